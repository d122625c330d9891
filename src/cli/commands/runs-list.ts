import { formatDuration, type RunFilter, type RunPage, type RunRecord, type RunStatus } from '../../index.ts'
import { usageError } from '../cli-error.ts'
import type { CommandSpec } from '../command.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { statusPaint } from '../format/colours.ts'
import { escapeText } from '../format/escape.ts'
import { jsonDocument } from '../format/json.ts'
import { runJson } from '../format/run.ts'
import { type Cell, type Column, table } from '../format/table.ts'
import { formatRelative } from '../format/time.ts'
import { withExistingStore } from '../open-store.ts'
import { given, type Options, textOption, textsOption, wholeOption } from '../options.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 1000

const STATUSES = {
  pending: true,
  running: true,
  waiting: true,
  paused: true,
  completed: true,
  failed: true,
  cancelled: true,
} as const satisfies Record<RunStatus, true>

const COLUMNS: readonly Column[] = [
  { title: 'ID' },
  { title: 'WORKFLOW', shrinks: true },
  { title: 'STATUS' },
  { title: 'KEY', shrinks: true },
  { title: 'CREATED', align: 'right' },
  { title: 'TOOK / DUE', align: 'right' },
]

/** `perdure runs list`: a page of runs, newest first. */
export const runsListCommand: CommandSpec = {
  usage: 'runs list',
  description: 'List runs, newest first',
  options: [
    ['--workflow <name>', 'Only runs of this workflow'],
    ['--status <status>', `Only in this state; several with commas: ${Object.keys(STATUSES).join(',')}`],
    ['--queue <queue>', 'Only in this queue'],
    ['--key <key>', 'Only with this dedupe key'],
    ['--tag <tag>', 'Only with this tag'],
    ['--limit <n>', `How many at most, up to ${MAX_LIMIT} (default: ${DEFAULT_LIMIT})`],
    ['--cursor <cursor>', 'Where the page before ended'],
  ],
  async action(context, _, options) {
    const filter = readFilter(options)
    const page = await withExistingStore(context, options, {
      readOnly: true,
      use: (engine) => engine.listRuns(filter),
    })
    if (context.json) printJson(context, page)
    else printTable(context, page)
    return EXIT.ok
  },
}

function readFilter(options: Options): Partial<RunFilter> {
  return {
    limit: wholeOption(options, 'limit', { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT,
    ...given({
      workflow: textOption(options, 'workflow'),
      status: textsOption(options, 'status')?.flatMap(statusesIn),
      queue: textOption(options, 'queue'),
      key: textOption(options, 'key'),
      tag: textOption(options, 'tag'),
      cursor: fromPrintable(textOption(options, 'cursor')),
    }),
  }
}

function statusesIn(text: string): RunStatus[] {
  return text.split(',').map((part) => {
    const status = part.trim()
    if (isStatus(status)) return status
    throw usageError(`"${status}" is no status of a run. There are: ${Object.keys(STATUSES).join(', ')}.`)
  })
}

function isStatus(text: string): text is RunStatus {
  return Object.hasOwn(STATUSES, text)
}

function printJson({ out, verbose }: Context, { runs, cursor }: RunPage): void {
  out(
    jsonDocument({ runs: runs.map((run) => runJson(run, { stacks: verbose })), cursor: toPrintable(cursor) }),
  )
}

function printTable(context: Context, { runs, cursor }: RunPage): void {
  const { out, err, width, colours } = context
  if (runs.length === 0) {
    err('No runs.')
    return
  }
  const rows = runs.map((run) => rowOf(run, context))
  for (const line of table(COLUMNS, rows, { width, paintTitle: colours.dim })) out(line)
  if (cursor !== null) err(colours.dim(`There are more: --cursor ${toPrintable(cursor)}`))
}

/** A store's cursor may have quotes and brackets in it, which a shell would not pass on as they are. */
function toPrintable(cursor: string | null): string | null {
  return cursor === null ? null : Buffer.from(cursor).toString('base64url')
}

function fromPrintable(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'base64url').toString()
}

function rowOf(run: RunRecord, { now, colours }: Context): Cell[] {
  return [
    { text: escapeText(run.id) },
    { text: escapeText(run.workflow) },
    { text: run.status, paint: statusPaint(run.status, colours) },
    { text: escapeText(run.key ?? '') },
    { text: formatRelative(run.createdAt, now()), paint: colours.dim },
    { text: progress(run, now()) },
  ]
}

/** How long an ended run took, how long a running one runs, when a parked one is due. */
function progress({ status, dueAt, startedAt, endedAt }: RunRecord, now: number): string {
  if (status === 'pending' || status === 'waiting') return dueAt === null ? '' : formatRelative(dueAt, now)
  return startedAt === null ? '' : formatDuration((endedAt ?? now) - startedAt)
}
