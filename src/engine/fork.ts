import { InvalidArgumentError, RunNotFoundError } from '../core/errors.ts'
import { checkId } from '../core/names.ts'
import type { Entry } from '../core/run.ts'
import { displayKey } from '../core/step-names.ts'
import type { NewRun } from '../ports/store.ts'
import type { ForkOptions } from './api.ts'
import type { Operator } from './operator.ts'

/**
 * A new run that starts from a prefix of another's journal: what was recorded before the step `before` is taken over,
 * that step and all that came after it is done again.
 */
export async function forkOf(operator: Operator, runId: string, options: ForkOptions): Promise<NewRun> {
  checkId(runId, 'The id of a run')
  const { store, env } = operator
  const [journal] = await store.journal([runId], { entries: true })
  if (journal === undefined || journal.run === null) throw new RunNotFoundError(runId)
  const { run } = journal
  const kept = prefix(journal.entries, run.epoch, options.before ?? null, runId)
  return {
    id: options.id === undefined ? env.uuid('run') : checkId(options.id, 'The id of a run'),
    workflow: run.workflow,
    version: run.version,
    queue: run.queue,
    // The key stays with the original while that is retained.
    key: null,
    priority: run.priority,
    tags: run.tags,
    input: run.input,
    policy: run.policy,
    dueAt: env.now(),
    parentId: null,
    parentStep: null,
    entries: kept,
  }
}

/** New runs begin with this epoch. */
const FIRST_EPOCH = 1

function prefix(entries: readonly Entry[], epoch: number, before: string | null, runId: string): Entry[] {
  const end = before === null ? Number.POSITIVE_INFINITY : startOf(entries, before, runId)
  const kept = entries.filter((entry) => {
    if (entry.kind === 'interrupt' || entry.epoch !== epoch) return false
    if (entry.kind === 'checkpoint') return entry.order === null || entry.order < end
    // Values have no place in the order: they go by the time at which they were made.
    if (entry.kind === 'value') return entry.status === 'succeeded' && precedes(entries, entry, end)
    return entry.order !== null && entry.order < end && entry.status === 'succeeded'
  })
  return kept.map((entry) => ({ ...entry, epoch: FIRST_EPOCH }))
}

function startOf(entries: readonly Entry[], before: string, runId: string): number {
  const named = entries.filter(({ key }) => displayKey(key) === before)
  if (named.length > 1) {
    const keys = named.map(({ key }) => JSON.stringify(key)).join(' and ')
    throw new InvalidArgumentError(`Run ${runId} has two steps that are shown as "${before}": name ${keys}.`)
  }
  const entry = entries.find(({ key }) => key === before) ?? named[0]
  if (entry === undefined) {
    throw new InvalidArgumentError(
      `Run ${runId} has no step ${JSON.stringify(before)}; see its history for the names.`,
    )
  }
  return entry.order ?? Number.POSITIVE_INFINITY
}

function precedes(entries: readonly Entry[], value: Entry, end: number): boolean {
  const next = entries.find((entry) => entry.order === end)
  return next === undefined || value.startedAt <= next.startedAt
}
