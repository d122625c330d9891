import { claimed, created } from '../../core/run-machine.ts'
import { writeOrder } from '../../core/write-order.ts'
import type { AdvanceWrite, CreateWrite, Write, WriteResult } from '../../ports/store.ts'
import { birthOf, claimOf, entriesOf, nextOf, parameterOf } from './parameters.ts'
import { conflicts } from './touched.ts'

/** A batch in the form that `perdure_commit` takes. */
export interface Batch {
  /** The creates and advances that are applied together, and the entries of the latter. */
  readonly births: readonly object[]
  readonly advances: readonly object[]
  readonly entries: readonly object[]
  /** All other writes, which are applied one by one in this order. */
  readonly others: readonly object[]
  /** What each write comes to if the database does not say otherwise; `null`: it will say. */
  readonly expected: readonly (WriteResult | null)[]
}

/** Sorts out the writes that concern nothing but their own run, as most do, to be applied together. */
export function toBatch(writes: readonly Write[], now: number): Batch {
  const births: object[] = []
  const advances: object[] = []
  const entries: object[] = []
  const others: object[] = []
  const isConflicting = conflicts(writes)
  const expected = writes.map((write, place) => {
    if (isConflicting(write)) {
      others.push({ place, ...parameterOf(write, now) })
    } else if (isPlainCreate(write)) {
      births.push({ place, ...birthOf(write, now) })
      return expectedOfCreate(write, now)
    } else if (isPlainAdvance(write)) {
      advances.push({ place, ...claimOf(write), ...(write.to === null ? {} : nextOf(write.to)) })
      const written = writeOrder(write)
      for (const entry of entriesOf(write.entries))
        entries.push({ write: advances.length, written, ...entry })
      return expectedOfAdvance(write)
    } else {
      others.push({ place, ...parameterOf(write, now) })
    }
    return null
  })
  return { births, advances, entries, others, expected }
}

/** The batch with every write applied by itself, so that one that cannot be stored condemns no other. */
export function toSingles(writes: readonly Write[], now: number): Batch {
  const others = writes.map((write, place) => ({ place, ...parameterOf(write, now) }))
  return { births: [], advances: [], entries: [], others, expected: writes.map(() => null) }
}

function isPlainCreate(write: Write): write is CreateWrite {
  return write.type === 'create' && write.run.entries.length === 0 && write.run.tags.length === 0
}

function isPlainAdvance(write: Write): write is AdvanceWrite {
  return (
    write.type === 'advance' &&
    write.to?.status !== 'pending' &&
    write.to?.status !== 'paused' &&
    [write.children, write.deliveries, write.deliveriesIfCancelled, write.cancels, write.consumed].every(
      ({ length }) => length === 0,
    )
  )
}

function expectedOfCreate({ run, claimedBy }: CreateWrite, now: number): WriteResult {
  const pending = created(run, now)
  const { status, dueAt } = claimedBy === null ? pending : claimed(pending, claimedBy, now)
  return { status: 'ok', run: { status, dueAt } }
}

function expectedOfAdvance({ to }: AdvanceWrite): WriteResult {
  const dueAt = to?.status === 'waiting' ? to.dueAt : null
  return { status: 'ok', run: { status: to?.status ?? 'running', dueAt } }
}
