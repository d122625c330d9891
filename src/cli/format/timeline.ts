import { formatDuration, type History, type HistoryEntry, type RunRecord } from '../../index.ts'
import { bar, type Span } from './bar.ts'
import type { Colours } from './colours.ts'
import { errorLine, errorLines } from './error.ts'
import { escapeText } from './escape.ts'
import { jsonText } from './json.ts'
import { type Cell, type Column, table } from './table.ts'
import { formatMoment } from './time.ts'
import { truncate } from './width.ts'

export interface TimelineOptions {
  readonly now: number
  /** `null`: nothing is cut off. */
  readonly width: number | null
  readonly colours: Colours
  /** Whether errors are shown with their stacks. */
  readonly stacks: boolean
  /** The child runs of the run that are known. */
  readonly children: readonly RunRecord[]
}

const COLUMNS: readonly Column[] = [
  { title: '' },
  { title: 'STEP', shrinks: true },
  { title: 'KIND', shrinks: true },
  { title: 'START', align: 'right' },
  { title: 'TOOK', align: 'right' },
  { title: '' },
]

/** The widest and the narrowest bar, in columns; below that there is none. */
const MAX_BAR = 40
const MIN_BAR = 10
/** The share of the terminal that the bars may have. */
const BAR_SHARE = 0.3
const INDENT = '     '

/**
 * The entries of a run's journal, one line each, with a bar that shows when it took place; below it what else is
 * known: failed attempts, what it waits for, its error or result. All times are relative to the run's start.
 */
export function timeline({ run, entries }: History, options: TimelineOptions): string[] {
  const { width, colours, now } = options
  const whole = wholeOf(run, entries, now)
  const rows = entries.map((entry) => entryRow(entry, whole, options))
  const [title = '', ...lines] = table(COLUMNS, rows, { width, paintTitle: colours.dim })
  const shown = entries.flatMap((entry, index) => [
    lines[index] ?? '',
    ...entryDetails(entry, { run, whole }, options).map((line) => INDENT + line),
  ])
  return [title, ...shown]
}

/** From the first start to the end, or until now. A revived run began before its latest start. */
function wholeOf(run: RunRecord, entries: readonly HistoryEntry[], now: number): Span {
  const started = run.startedAt ?? run.createdAt
  const from = entries.reduce((first, { startedAt }) => Math.min(first, startedAt), started)
  return { from, to: run.endedAt ?? Math.max(now, from) }
}

function entryRow(entry: HistoryEntry, whole: Span, { width, colours }: TimelineOptions): Cell[] {
  const { startedAt, endedAt } = entry
  const span = { from: startedAt, to: endedAt ?? whole.to }
  const barWidth = Math.min(MAX_BAR, Math.floor((width ?? 120) * BAR_SHARE))
  const paint = entryPaint(entry, colours)
  return [
    { text: entrySymbol(entry), paint },
    { text: escapeText(entry.name) },
    { text: escapeText(kindText(entry)), paint: colours.dim },
    { text: offset(startedAt, whole.from) },
    { text: formatDuration(span.to - span.from) + (endedAt === null ? '…' : '') },
    { text: barWidth < MIN_BAR ? '' : bar(span, whole, barWidth, endedAt === null ? '░' : '█'), paint },
  ]
}

function kindText({ kind, target, name }: HistoryEntry): string {
  return target === null || target === name ? kind : `${kind} ${target}`
}

function offset(time: number, start: number): string {
  return `+${formatDuration(time - start)}`
}

function entrySymbol({ status }: HistoryEntry): string {
  switch (status) {
    case 'succeeded':
      return '✓'
    case 'failed':
      return '✗'
    case 'running':
      return '›'
    case 'waiting':
    case 'scheduled':
      return '·'
    default:
      status satisfies never
      return '?'
  }
}

function entryPaint({ status }: HistoryEntry, colours: Colours): (text: string) => string {
  if (status === 'succeeded') return colours.green
  return status === 'failed' ? colours.red : colours.cyan
}

function entryDetails(
  entry: HistoryEntry,
  { run, whole }: { readonly run: RunRecord; readonly whole: Span },
  options: TimelineOptions,
): string[] {
  return [
    ...entry.attempts.map(({ attempt, startedAt, endedAt, error }) => {
      const when = `${offset(startedAt, whole.from)}, ${formatDuration(endedAt - startedAt)}`
      return `attempt ${attempt} failed (${when}): ${errorLine(error)}`
    }),
    ...waitLines(entry, run, options),
    ...childLines(entry, options),
    ...failureLines(entry, options),
    ...resultLines(entry, options),
  ]
}

/** A cancel is an entry that failed without an error of its own: the run's tells it. */
function failureLines({ status, error }: HistoryEntry, { colours, stacks }: TimelineOptions): string[] {
  return status === 'failed' && error !== undefined ? errorLines(error, { stacks }).map(colours.red) : []
}

function resultLines({ status, result }: HistoryEntry, { width }: TimelineOptions): string[] {
  if (status !== 'succeeded' || result === undefined) return []
  const text = `→ ${jsonText(result)}`
  return [width === null ? text : truncate(text, Math.max(1, width - INDENT.length))]
}

/** What an entry waits for, and until when. A run that has ended waits for nothing any more. */
function waitLines(entry: HistoryEntry, run: RunRecord, { now, colours }: TimelineOptions): string[] {
  const isOpen = entry.endedAt === null && run.endedAt === null
  if (!isOpen || entry.status === 'running') return []
  const until = entry.dueAt === null ? '' : formatMoment(entry.dueAt, now)
  return [colours.cyan(waitText(entry, until))]
}

function waitText({ kind, target, name, childId }: HistoryEntry, until: string): string {
  switch (kind) {
    case 'event': {
      const limit = until === '' ? 'without a time limit' : `until ${until}`
      return `waits for event "${escapeText(target ?? name)}" ${limit}`
    }
    case 'child':
      return until === '' ? `waits for run ${escapeText(childId ?? '')}` : `is tried again at ${until}`
    case 'sleep':
      return `sleeps until ${until}`
    case 'step':
    case 'value':
    case 'checkpoint':
    case 'interrupt':
      return until === '' ? 'has not begun' : `is tried again at ${until}`
    default:
      kind satisfies never
      return `waits until ${until}`
  }
}

function childLines({ childId }: HistoryEntry, { children }: TimelineOptions): string[] {
  if (childId === null) return []
  const child = children.find(({ id }) => id === childId)
  return [`run ${escapeText(childId)} ${child === undefined ? '(not kept any more)' : child.status}`]
}
