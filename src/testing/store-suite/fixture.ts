import assert from 'node:assert/strict'
import type { Entry, InboxItem, RunPolicy, RunRecord } from '../../core/run.ts'
import type {
  AdvanceWrite,
  ControlWrite,
  CreateWrite,
  DeliverWrite,
  NewRun,
  RunJournal,
  RunState,
  Store,
  Transition,
  Write,
  WriteResult,
} from '../../ports/store.ts'

/** When most tests take place, epoch ms. */
export const T = 1_700_000_000_000

/** Who claims unless a test says otherwise. */
export const WORKER = 'worker-1'

/** What every test workflow is called unless a test says otherwise. */
export const WORKFLOW = { name: 'order', version: '' }

export const POLICY: RunPolicy = { retry: null, timeout: null, retention: 1_000, call: null }

/** A run that nobody has written yet. */
export function newRun(fields: Partial<NewRun> & Pick<NewRun, 'id'>): NewRun {
  return {
    workflow: WORKFLOW.name,
    version: WORKFLOW.version,
    queue: 'default',
    key: null,
    priority: 0,
    tags: [],
    input: '1',
    policy: POLICY,
    dueAt: T,
    parentId: null,
    parentStep: null,
    entries: [],
    ...fields,
  }
}

export function createOf(
  fields: Partial<NewRun> & Pick<NewRun, 'id'>,
  claimedBy: string | null = null,
): CreateWrite {
  return { type: 'create', run: newRun(fields), claimedBy }
}

/** The next write of the execution that holds this claim. */
export function advanceOf(
  run: Pick<RunRecord, 'id' | 'owner' | 'fence'>,
  to: Transition | null,
  fields: Partial<AdvanceWrite> = {},
): AdvanceWrite {
  return {
    type: 'advance',
    runId: run.id,
    worker: run.owner ?? WORKER,
    fence: run.fence,
    number: 1,
    entries: [],
    progress: true,
    children: [],
    deliveries: [],
    deliveriesIfCancelled: [],
    cancels: [],
    consumed: [],
    to,
    ...fields,
  }
}

export function itemOf(id: string, fields: Partial<InboxItem> = {}): InboxItem {
  return { id, kind: 'event', name: 'approval', payload: '"yes"', at: T, ...fields }
}

export function deliverOf(runId: string, item: InboxItem): DeliverWrite {
  return { type: 'deliver', runId, item }
}

export function cancelOf(runId: string): ControlWrite {
  return { type: 'control', action: 'cancel', runId, reason: 'not needed', error: '"cancelled early"' }
}

export function controlOf(action: Exclude<ControlWrite['action'], 'cancel'>, runId: string): ControlWrite {
  return { type: 'control', action, runId }
}

export function entryOf(key: string, fields: Partial<Entry> = {}): Entry {
  return {
    key,
    kind: 'step',
    status: 'succeeded',
    target: null,
    childId: null,
    epoch: 1,
    order: 1,
    value: '"done"',
    attempts: [],
    dueAt: null,
    startedAt: T,
    endedAt: T + 1,
    ...fields,
  }
}

export const WAITING = { status: 'waiting', dueAt: null, seen: 0 } as const
export const PAUSED = { status: 'paused', error: '"mismatch"', seen: 0 } as const
export const COMPLETED = { status: 'completed', output: '"out"', error: null, cancelled: '"c"' } as const
export const FAILED = { status: 'failed', output: null, error: '"boom"', cancelled: '"c"' } as const
export const CANCELLED = { status: 'cancelled', output: null, error: '"own"', cancelled: '"c"' } as const
export const PENDING = {
  status: 'pending',
  dueAt: T + 500,
  seen: 0,
  attempt: 2,
  epoch: 2,
  error: '"boom"',
} as const

export async function commitOne(store: Store, write: Write, now = T): Promise<WriteResult> {
  const results = await store.commit([write], now)
  assert.equal(results.length, 1, 'commit must return one result per write')
  const [result] = results
  assert.ok(result)
  return result
}

/** Commits one write that must be applied. */
export async function apply(store: Store, write: Write, now = T): Promise<RunState | null> {
  return stateOf(await commitOne(store, write, now))
}

/** Commits one write that must be refused with this status. */
export async function refuse(
  store: Store,
  write: Write,
  status: WriteResult['status'],
): Promise<WriteResult> {
  const result = await commitOne(store, write)
  assert.equal(result.status, status)
  return result
}

/** The state that an applied write left its run in. */
export function stateOf(result: WriteResult | undefined): RunState | null {
  assert.equal(result?.status, 'ok', `expected ok, got ${JSON.stringify(result)}`)
  return result.run === null ? null : { status: result.run.status, dueAt: result.run.dueAt }
}

export async function runOf(store: Store, id: string): Promise<RunRecord> {
  const run = await store.getRun(id)
  assert.ok(run, `run ${id} is missing`)
  return run
}

export async function journalOf(store: Store, id: string): Promise<RunJournal> {
  const [journal] = await store.journal([id], { entries: true })
  assert.ok(journal)
  return journal
}

/** Creates a run that is already claimed. */
export async function started(
  store: Store,
  fields: Partial<NewRun> & Pick<NewRun, 'id'>,
  { worker = WORKER, now = T } = {},
): Promise<RunRecord> {
  await apply(store, createOf(fields, worker), now)
  return runOf(store, fields.id)
}

/** Creates a run and takes it to this state. */
export async function arrived(store: Store, id: string, to: Transition): Promise<RunRecord> {
  await apply(store, advanceOf(await started(store, { id }), to))
  return runOf(store, id)
}

/** Creates a run that has ended. */
export function completed(store: Store, id: string): Promise<RunRecord> {
  return arrived(store, id, COMPLETED)
}

/** The ids of up to `limit` claimed runs, in the order in which the store returned them. */
export async function claimIds(
  store: Store,
  {
    worker = WORKER,
    limit = 10,
    now = T,
    queues = null as readonly string[] | null,
    workflows = [WORKFLOW],
  } = {},
): Promise<readonly string[]> {
  const runs = await store.claim({ worker, workflows, queues, limit, now })
  return runs.map((run) => run.id)
}

/** Claims the one run that is due. */
export async function claimOne(store: Store, { worker = WORKER, now = T } = {}): Promise<RunRecord> {
  const runs = await store.claim({ worker, workflows: [WORKFLOW], queues: null, limit: 10, now })
  assert.equal(runs.length, 1, 'exactly one run must be due')
  const [run] = runs
  assert.ok(run)
  return run
}

/** Compares only the named fields, so that each test fails for one reason. */
export function matches<T extends object>(actual: T, expected: Partial<T>): void {
  const picked = Object.fromEntries(Object.keys(expected).map((name) => [name, actual[name as keyof T]]))
  assert.deepEqual(picked, { ...expected })
}

export function sorted(values: Iterable<string>): readonly string[] {
  return [...values].sort()
}
