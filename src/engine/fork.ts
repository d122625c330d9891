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

/** New runs begin with this epoch; entries of an earlier one are memoised values, which do not bind the code. */
const FIRST_EPOCH = 1
const MEMOISED = 0

function prefix(entries: readonly Entry[], epoch: number, before: string | null, runId: string): Entry[] {
  const cut = before === null ? null : stepNamed(entries, before, runId)
  const end = Math.min(endOf(entries, epoch, cut), interruptOf(entries, epoch))
  return entries.flatMap((entry): Entry[] => {
    const { kind, status, order } = entry
    if (kind === 'interrupt' || entry.key === cut?.key) return []
    // The newest save says where it was; what was saved after the cut is not known there.
    if (kind === 'checkpoint' && order === null)
      return isAfter(entry, cut) ? [] : [{ ...entry, epoch: FIRST_EPOCH }]
    if (entry.epoch === epoch && order !== null) return order < end ? [{ ...entry, epoch: FIRST_EPOCH }] : []
    // Values, and what earlier epochs came to, may be used again but need not be.
    const reusable = kind === 'value' || entry.epoch < epoch
    return status === 'succeeded' && reusable ? [{ ...entry, epoch: MEMOISED, order: null }] : []
  })
}

/** The order of the first outcome that is not kept. */
function endOf(entries: readonly Entry[], epoch: number, cut: Entry | null): number {
  if (cut !== null) return cut.epoch === epoch ? (cut.order ?? Number.POSITIVE_INFINITY) : 1
  // Failures after the last success are what the run failed of: they are done again.
  const succeeded = entries.filter((entry) => entry.epoch === epoch && entry.status === 'succeeded')
  return succeeded.reduce((last, { order }) => Math.max(last, order ?? 0), 0) + 1
}

function interruptOf(entries: readonly Entry[], epoch: number): number {
  const interrupt = entries.find((entry) => entry.kind === 'interrupt' && entry.epoch === epoch)
  return interrupt?.order ?? Number.POSITIVE_INFINITY
}

function isAfter(checkpoint: Entry, cut: Entry | null): boolean {
  return cut !== null && (checkpoint.endedAt ?? 0) > cut.startedAt
}

function stepNamed(entries: readonly Entry[], before: string, runId: string): Entry {
  const steps = entries.filter(({ kind }) => kind !== 'checkpoint' && kind !== 'interrupt')
  const exact = steps.find(({ key }) => key === before)
  const named = steps.filter(({ key }) => displayKey(key) === before)
  if (exact === undefined && named.length > 1) {
    const keys = named.map(({ key }) => JSON.stringify(key)).join(' and ')
    throw new InvalidArgumentError(`Run ${runId} has two steps that are shown as "${before}": name ${keys}.`)
  }
  const entry = exact ?? named[0]
  if (entry !== undefined) return entry
  throw new InvalidArgumentError(
    `Run ${runId} has no step ${JSON.stringify(before)}; see its history for the names.`,
  )
}
