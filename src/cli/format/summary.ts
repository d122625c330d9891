import { formatDuration, type RunRecord } from '../../index.ts'
import { type Decoded, errorOf, inputOf, outputOf } from '../decode.ts'
import { type Colours, statusPaint } from './colours.ts'
import { errorLines } from './error.ts'
import { escapeText } from './escape.ts'
import { jsonText } from './json.ts'
import { formatMoment } from './time.ts'
import { truncate } from './width.ts'

export interface SummaryOptions {
  readonly now: number
  /** `null`: nothing is cut off. */
  readonly width: number | null
  readonly colours: Colours
  /** Whether errors are shown with their stacks. */
  readonly stacks: boolean
}

/** The widest label, and a space. */
const LABEL_WIDTH = 11

/** What is known of a run besides its journal: one line per fact, those that say nothing left out. */
export function summary(run: RunRecord, options: SummaryOptions): string[] {
  const { colours, width } = options
  const facts = [...identityFacts(run), ...timeFacts(run, options), ...valueFacts(run)]
  const lines = facts.map(([label, text]) => {
    const shown = width === null ? text : truncate(text, Math.max(1, width - LABEL_WIDTH))
    return colours.dim(label.padEnd(LABEL_WIDTH)) + shown
  })
  const status = statusPaint(run.status, colours)(run.status)
  return [`${colours.bold(`Run ${escapeText(run.id)}`)}  ${status}`, ...lines, ...errorFacts(run, options)]
}

type Fact = readonly [label: string, text: string]

function identityFacts(run: RunRecord): Fact[] {
  const version = run.version === '' ? '' : ` (version ${run.version})`
  return [
    ['workflow', escapeText(run.workflow + version)],
    ...fact('queue', run.queue === 'default' ? null : run.queue),
    ...fact('key', run.key),
    ...fact('tags', run.tags.length === 0 ? null : run.tags.join(', ')),
    ...fact('priority', run.priority === 0 ? null : String(run.priority)),
    ...fact('parent', run.parentId),
    ...fact('worker', run.owner),
  ]
}

function timeFacts(run: RunRecord, { now }: SummaryOptions): Fact[] {
  const { createdAt, startedAt, endedAt, dueAt, deadline, expiresAt, attempt, deaths } = run
  const moment = (time: number | null): string | null => (time === null ? null : formatMoment(time, now))
  const died = deaths === 0 ? '' : `; ${deaths} in a row ended by the death of the worker`
  const took = startedAt === null || endedAt === null ? '' : `, took ${formatDuration(endedAt - startedAt)}`
  return [
    ['created', formatMoment(createdAt, now)],
    ...fact('started', moment(startedAt)),
    ...fact('attempt', attempt === 1 && deaths === 0 ? null : `${attempt}${died}`),
    ...fact('due', isParked(run) ? (moment(dueAt) ?? 'when something is delivered to it') : null),
    ...fact('deadline', endedAt === null ? moment(deadline) : null),
    ...fact('pause', run.pauseRequested ? 'requested; it pauses when the steps that run have ended' : null),
    ...fact(
      'cancel',
      run.cancelReason === null ? null : `requested: ${run.cancelReason || '(no reason given)'}`,
    ),
    ...fact('ended', endedAt === null ? null : moment(endedAt) + took),
    ...fact('expires', moment(expiresAt)),
  ]
}

function isParked({ status }: RunRecord): boolean {
  return status === 'pending' || status === 'waiting'
}

function valueFacts(run: RunRecord): Fact[] {
  return [...valueFact('input', inputOf(run)), ...valueFact('output', outputOf(run))]
}

function valueFact(label: string, decoded: Decoded | null): Fact[] {
  if (decoded === null) return []
  if ('unreadable' in decoded) return [[label, `(cannot be read: ${escapeText(decoded.unreadable)})`]]
  return decoded.value === undefined ? [] : [[label, jsonText(decoded.value)]]
}

/** Never cut off: the end of a message may be what matters. */
function errorFacts(run: RunRecord, { colours, stacks }: SummaryOptions): string[] {
  const error = errorOf(run)
  if (error === null) return []
  const lines =
    'unreadable' in error
      ? [`(cannot be read: ${escapeText(error.unreadable)})`]
      : errorLines(error.value, { stacks })
  return lines.map(
    (line, index) => colours.dim((index === 0 ? 'error' : '').padEnd(LABEL_WIDTH)) + colours.red(line),
  )
}

function fact(label: string, text: string | null): Fact[] {
  return text === null ? [] : [[label, escapeText(text)]]
}
