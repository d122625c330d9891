/** How writes become parameters of `perdure_commit`: objects whose members are named like columns, without NULLs. */
import type { Entry, RunRecord, Transition } from '../../core/run.ts'
import { claimed, created } from '../../core/run-machine.ts'
import { writeOrder } from '../../core/write-order.ts'
import type { AdvanceWrite, Birth, CancelRequest, ControlWrite, Delivery, Write } from '../../ports/store.ts'
import { toStoredText } from '../sql/text.ts'

/** What JSON leaves out is NULL. */
type Nothing = undefined

/** A write that is applied by itself. */
export function parameterOf(write: Write, now: number): object {
  switch (write.type) {
    case 'create':
      return { type: 'create', birth: birthOf(write, now) }
    case 'advance':
      return advanceOf(write, now)
    case 'deliver':
      return { type: 'deliver', ...deliveryOf(write) }
    case 'control':
      return controlOf(write)
  }
}

function controlOf(write: ControlWrite): object {
  const { type, action } = write
  return write.action === 'cancel'
    ? { type, action, ...cancelOf(write) }
    : { type, action, run_id: toStoredText(write.runId) }
}

function advanceOf(write: AdvanceWrite, now: number): object {
  return {
    type: 'advance',
    ...claimOf(write),
    entries: unlessEmpty(write.entries, entriesOf),
    children: unlessEmpty(write.children, (births) => births.map((birth) => birthOf(birth, now))),
    deliveries: unlessEmpty(write.deliveries, (deliveries) => deliveries.map(deliveryOf)),
    deliveries_if_cancelled: unlessEmpty(write.deliveriesIfCancelled, (deliveries) =>
      deliveries.map(deliveryOf),
    ),
    cancels: unlessEmpty(write.cancels, (requests) => requests.map(cancelOf)),
    consumed: unlessEmpty(write.consumed, (ids) => ids.map(toStoredText)),
    next: write.to === null ? undefined : nextOf(write.to),
  }
}

/** Of an advance: the claim that it needs, and what it does to it. */
export function claimOf(write: AdvanceWrite): object {
  return {
    run_id: toStoredText(write.runId),
    worker: toStoredText(write.worker),
    fence: write.fence,
    written: writeOrder(write),
    progress: write.progress && write.entries.length > 0 ? true : undefined,
  }
}

/** Of an advance: where it takes its run. */
export function nextOf(to: Transition): object {
  switch (to.status) {
    case 'waiting':
      return { status: to.status, due_at: to.dueAt ?? undefined, seen: to.seen }
    case 'pending': {
      const { status, dueAt, seen, attempt, epoch, error } = to
      return { status, due_at: dueAt, seen, attempt, epoch, error: textOf(error) }
    }
    case 'paused':
      return { status: to.status, error: textOf(to.error), seen: to.seen }
    default: {
      const { status, output, error, cancelled } = to
      return { status, output: textOf(output), error: textOf(error), cancelled: toStoredText(cancelled) }
    }
  }
}

/** A new run, with its tags and entries. */
export function birthOf({ run, claimedBy }: Birth, now: number): object {
  const pending = created(run, now)
  const record = claimedBy === null ? pending : claimed(pending, claimedBy, now)
  return {
    ...rowOf(record),
    tag_list: unlessEmpty(run.tags, (tags) => tags.map(toStoredText)),
    entries: unlessEmpty(run.entries, entriesOf),
  }
}

function rowOf(run: RunRecord): object {
  return {
    id: toStoredText(run.id),
    workflow: toStoredText(run.workflow),
    version: toStoredText(run.version),
    queue: toStoredText(run.queue),
    key: textOf(run.key),
    priority: run.priority,
    tags: toStoredText(JSON.stringify(run.tags)),
    status: run.status,
    due_at: run.dueAt ?? undefined,
    owner: textOf(run.owner),
    fence: run.fence,
    input: toStoredText(run.input),
    parent_id: textOf(run.parentId),
    parent_step: textOf(run.parentStep),
    policy: JSON.stringify(run.policy),
    timeout: run.policy.timeout ?? undefined,
    retention: run.policy.retention,
    deadline: run.deadline ?? undefined,
    created_at: run.createdAt,
    started_at: run.startedAt ?? undefined,
  }
}

/** One statement cannot write a row twice: of entries with the same key, the last one counts. */
export function entriesOf(entries: readonly Entry[]): readonly object[] {
  return [...new Map(entries.map((entry) => [entry.key, entry])).values()].map(entryOf)
}

function entryOf(entry: Entry): object {
  return {
    key: toStoredText(entry.key),
    kind: entry.kind,
    status: entry.status,
    target: textOf(entry.target),
    child_id: textOf(entry.childId),
    epoch: entry.epoch,
    position: entry.order ?? undefined,
    value: textOf(entry.value),
    attempts: entry.attempts.length === 0 ? undefined : toStoredText(JSON.stringify(entry.attempts)),
    due_at: entry.dueAt ?? undefined,
    started_at: entry.startedAt,
    ended_at: entry.endedAt ?? undefined,
  }
}

function deliveryOf({ runId, item }: Delivery): object {
  return {
    run_id: toStoredText(runId),
    id: toStoredText(item.id),
    kind: item.kind,
    name: toStoredText(item.name),
    payload: toStoredText(item.payload),
    at: item.at,
  }
}

function cancelOf({ runId, reason, error }: CancelRequest): object {
  return { run_id: toStoredText(runId), reason: toStoredText(reason), error: toStoredText(error) }
}

function textOf(value: string | null): string | Nothing {
  return value === null ? undefined : toStoredText(value)
}

function unlessEmpty<Item>(
  items: readonly Item[],
  toParameters: (items: readonly Item[]) => unknown,
): unknown | Nothing {
  return items.length === 0 ? undefined : toParameters(items)
}
