import type { Engine, History, HistoryEntry, RunRecord } from '../../index.ts'
import type { CommandSpec } from '../command.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonDocument } from '../format/json.ts'
import { runJson } from '../format/run.ts'
import { summary } from '../format/summary.ts'
import { isoTime } from '../format/time.ts'
import { timeline } from '../format/timeline.ts'
import { withExistingStore } from '../open-store.ts'

const MAX_CHILDREN = 1000

/** `perdure runs show`: what is known of a run, and what happened in it. */
export const runsShowCommand: CommandSpec = {
  usage: 'runs show <id>',
  description: 'Show a run: its state, its steps on a time line, its errors',
  options: [],
  async action(context, [id = ''], options) {
    const { history, children } = await withExistingStore(context, options, {
      readOnly: true,
      use: (engine) => read(engine, id),
    })
    if (context.json) printJson(context, history, children)
    else printTimeline(context, history, children)
    return EXIT.ok
  },
}

async function read(
  engine: Engine,
  id: string,
): Promise<{ readonly history: History; readonly children: readonly RunRecord[] }> {
  const history = await engine.getHandle(id).history()
  const { runs: children } = await engine.listRuns({ parentId: id, limit: MAX_CHILDREN })
  return { history, children }
}

function printTimeline(context: Context, history: History, children: readonly RunRecord[]): void {
  const { out, width, colours, verbose: stacks } = context
  const options = { now: context.now(), width, colours, stacks, children }
  for (const line of summary(history.run, options)) out(line)
  if (history.entries.length === 0) return
  out('')
  for (const line of timeline(history, options)) out(line)
}

function printJson(context: Context, { run, entries }: History, children: readonly RunRecord[]): void {
  const options = { stacks: context.verbose }
  const document = {
    run: runJson(run, options),
    entries: entries.map(entryJson),
    children: children.map((child) => runJson(child, options)),
  }
  context.out(jsonDocument(document, options))
}

function entryJson(entry: HistoryEntry): Readonly<Record<string, unknown>> {
  const { name, kind, status, target, childId, result, error } = entry
  return {
    ...{ name, kind, status, target, childId },
    result: result ?? null,
    error: error ?? null,
    startedAt: isoTime(entry.startedAt),
    endedAt: isoTime(entry.endedAt),
    dueAt: isoTime(entry.dueAt),
    attempts: entry.attempts.map((attempt) => ({
      attempt: attempt.attempt,
      startedAt: isoTime(attempt.startedAt),
      endedAt: isoTime(attempt.endedAt),
      error: attempt.error,
    })),
  }
}
