import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MAX_TIME } from './limits.ts'
import { isTerminal, type NewRun, type RunRecord, type RunStatus, type Transition } from './run.ts'
import {
  advanced,
  cancelRequested,
  cancelWins,
  claimed,
  created,
  delivered,
  dueAfterDeath,
  pauseRequested,
  type Request,
  reaped,
  resumeRequested,
  reviveRequested,
  takes,
  wakeRequested,
} from './run-machine.ts'

const NOW = 5000
const TIMEOUT = 60_000
const RETENTION = 1000

const newRun: NewRun = {
  id: 'run-1',
  workflow: 'order',
  version: '2',
  queue: 'orders',
  key: 'order-7',
  priority: 3,
  tags: ['eu'],
  input: '[1]',
  policy: { retry: null, timeout: TIMEOUT, retention: RETENTION, call: null },
  dueAt: 1000,
  parentId: null,
  parentStep: null,
  entries: [],
}

const ends = {
  completed: { status: 'completed', output: '["done"]', error: null, cancelled: '{"cancelled":1}' },
  failed: { status: 'failed', output: null, error: '{"failed":1}', cancelled: '{"cancelled":1}' },
  cancelled: { status: 'cancelled', output: null, error: '{"own":1}', cancelled: '{"cancelled":1}' },
} as const satisfies { readonly [status in RunStatus]?: Transition }

type Leave<Status extends RunStatus> = Extract<Transition, { readonly status: Status }>

const park: Leave<'waiting'> = { status: 'waiting', dueAt: null, seen: 0 }
const retry: Leave<'pending'> = {
  status: 'pending',
  dueAt: 9000,
  seen: 0,
  attempt: 2,
  epoch: 2,
  error: '{"x":1}',
}
const setAside: Leave<'paused'> = { status: 'paused', error: '{"mismatch":1}', seen: 0 }

const pending = created(newRun, 0)
const running = claimed(pending, 'worker-1', 2000)
const waiting = advanced(running, park, 3000)

function requested(request: Request, run: RunRecord, now = 3000): RunRecord {
  const next = request(run, now)
  if (next === null) throw new Error(`A ${run.status} run refuses the request.`)
  return next
}

function cancelledBy(run: RunRecord, reason = 'why', now = 3000): RunRecord {
  return requested((each, at) => cancelRequested(each, reason, '{"at once":1}', at), run, now)
}

const states: { readonly [status in RunStatus]: RunRecord } = {
  pending,
  running,
  waiting,
  paused: requested(pauseRequested, waiting),
  completed: advanced(running, ends.completed, 4000),
  failed: advanced(running, ends.failed, 4000),
  cancelled: advanced(running, ends.cancelled, 4000),
}

const statuses = Object.keys(states) as RunStatus[]

describe('a run that is created', () => {
  it('is pending, unclaimed, at its first attempt', () => {
    expect(pending).toMatchObject({
      status: 'pending',
      dueAt: 1000,
      attempt: 1,
      epoch: 1,
      fence: 0,
      owner: null,
    })
  })

  it('keeps what it was created with, except its first entries', () => {
    const { entries, ...kept } = newRun
    expect(pending).toMatchObject(kept)
    expect(pending).not.toHaveProperty('entries')
  })

  it('has not started yet', () => {
    expect(pending).toMatchObject({
      createdAt: 0,
      startedAt: null,
      deadline: null,
      endedAt: null,
      expiresAt: null,
    })
  })
})

describe('a claim', () => {
  it('gives the run an owner and raises its fence', () => {
    expect(claimed({ ...pending, fence: 6 }, 'worker-2', NOW)).toMatchObject({
      status: 'running',
      owner: 'worker-2',
      fence: 7,
      dueAt: null,
    })
  })

  it('starts the clock of the run', () => {
    expect(claimed(pending, 'worker-1', NOW)).toMatchObject({ startedAt: NOW, deadline: NOW + TIMEOUT })
  })

  it('leaves the clock of a run alone that has been claimed before', () => {
    expect(claimed(waiting, 'worker-2', NOW)).toMatchObject({ startedAt: 2000, deadline: 2000 + TIMEOUT })
  })

  it('sets no deadline without a timeout', () => {
    const untimed = { ...pending, policy: { ...newRun.policy, timeout: null } }
    expect(claimed(untimed, 'worker-1', NOW).deadline).toBeNull()
  })
})

describe('a time that lies beyond all dates', () => {
  const endless = { ...pending, policy: { ...newRun.policy, timeout: MAX_TIME, retention: MAX_TIME } }

  it.each<[string, number | null]>([
    ['a deadline', claimed(endless, 'worker-1', NOW).deadline],
    ['an expiry', advanced(claimed(endless, 'worker-1', NOW), ends.completed, NOW).expiresAt],
    ['the expiry of a run that never started', cancelledBy(endless, 'why', NOW).expiresAt],
  ])('is the last one, as %s', (_, time) => {
    expect(time).toBe(MAX_TIME)
  })
})

describe('parking', () => {
  it('waits until the given time', () => {
    expect(advanced(running, { ...park, dueAt: 8000 }, NOW)).toMatchObject({
      status: 'waiting',
      dueAt: 8000,
      owner: null,
    })
  })

  it('waits for a delivery if there is no time', () => {
    expect(advanced(running, park, NOW)).toMatchObject({ status: 'waiting', dueAt: null })
  })

  it('leaves the run due if something arrived that the execution has not looked at', () => {
    const run = delivered(running, 4000)
    expect(advanced(run, park, NOW)).toMatchObject({ status: 'waiting', dueAt: NOW, seen: 0 })
  })

  it('remembers what the execution has looked at', () => {
    const run = delivered(running, 4000)
    expect(advanced(run, { ...park, seen: 1 }, NOW)).toMatchObject({ dueAt: null, seen: 1 })
  })
})

describe('a retry', () => {
  it('is due at the given time, as the next attempt in the next epoch', () => {
    const { status, dueAt, attempt, epoch, error } = retry
    expect(advanced(running, retry, NOW)).toMatchObject({ status, dueAt, attempt, epoch, error, owner: null })
  })

  it('is due now if the run is to be cancelled', () => {
    expect(advanced(cancelledBy(running), retry, NOW)).toMatchObject({ status: 'pending', dueAt: NOW })
  })
})

describe('setting aside', () => {
  it('pauses the run with its error, due at once when it is resumed', () => {
    expect(advanced(running, setAside, NOW)).toMatchObject({
      status: 'paused',
      pausedFrom: 'waiting',
      error: '{"mismatch":1}',
      dueAt: NOW,
      owner: null,
    })
  })

  it('fulfils a request to pause', () => {
    expect(advanced(requested(pauseRequested, running), setAside, NOW).pauseRequested).toBe(false)
  })
})

describe('an end', () => {
  it.each(['completed', 'failed', 'cancelled'] as const)('as %s keeps what it was given', (status) => {
    const { output, error } = ends[status]
    expect(advanced(running, ends[status], NOW)).toMatchObject({ status, output, error })
  })

  it('lets go of the run and starts its retention', () => {
    expect(advanced(running, ends.completed, NOW)).toMatchObject({
      owner: null,
      dueAt: null,
      endedAt: NOW,
      expiresAt: NOW + RETENTION,
    })
  })

  it.each(['completed', 'failed'] as const)(
    'as %s gives way to a cancel that was accepted before',
    (status) => {
      expect(advanced(cancelledBy(running), ends[status], NOW)).toMatchObject({
        status: 'cancelled',
        output: null,
        error: ends[status].cancelled,
      })
    },
  )

  it('as cancelled keeps its own error when a cancel was accepted', () => {
    expect(advanced(cancelledBy(running), ends.cancelled, NOW).error).toBe(ends.cancelled.error)
  })

  it('drops a request to pause', () => {
    expect(advanced(requested(pauseRequested, running), ends.completed, NOW)).toMatchObject({
      status: 'completed',
      pauseRequested: false,
      pausedFrom: null,
    })
  })
})

describe('cancelWins', () => {
  it.each<[string, Transition | null, boolean]>([
    ['over completing', ends.completed, true],
    ['over failing', ends.failed, true],
    ['not over being cancelled', ends.cancelled, false],
    ['not over parking', park, false],
    ['not over a retry', retry, false],
    ['not over being set aside', setAside, false],
    ['not over going on', null, false],
  ])('%s', (_, to, expected) => {
    expect(cancelWins(cancelledBy(running), to)).toBe(expected)
  })

  it('never without an accepted cancel', () => {
    expect(cancelWins(running, ends.completed)).toBe(false)
  })
})

describe('the death of a worker', () => {
  it('leaves the run due now, its attempt and the death counted', () => {
    expect(reaped(running, 0, NOW)).toMatchObject({
      status: 'pending',
      dueAt: NOW,
      owner: null,
      attempt: 2,
      deaths: 1,
    })
  })

  it('leaves fence and epoch as they are: the journal still binds the code', () => {
    expect(reaped(running, 0, NOW)).toMatchObject({ fence: running.fence, epoch: running.epoch })
  })

  it('is due at once when its first workers die, whatever its place', () => {
    for (const deaths of [0, 1, 2]) expect(dueAfterDeath({ deaths }, 7, NOW)).toBe(NOW)
  })

  it('keeps a distance from others that have lost as many workers, which doubles with every death', () => {
    expect([3, 4, 5].map((deaths) => dueAfterDeath({ deaths }, 2, NOW) - NOW)).toEqual([400, 800, 1600])
    expect(dueAfterDeath({ deaths: 5 }, 0, NOW)).toBe(NOW)
    expect(dueAfterDeath({ deaths: 5000 }, 1, NOW) - NOW).toBe(15_000)
  })
})

describe('a delivery', () => {
  it.each(['pending', 'running', 'waiting', 'paused'] as const)('is counted by a %s run', (status) => {
    expect(delivered(states[status], NOW).deliveries).toBe(states[status].deliveries + 1)
  })

  it('wakes a parked run', () => {
    expect(delivered(waiting, NOW).dueAt).toBe(NOW)
  })

  it.each(['pending', 'running', 'paused'] as const)('leaves alone when a %s run is due', (status) => {
    expect(delivered(states[status], NOW).dueAt).toBe(states[status].dueAt)
  })
})

describe('a cancel', () => {
  it('ends a run at once that never started and has no parent', () => {
    expect(cancelledBy(pending, 'why', NOW)).toMatchObject({
      status: 'cancelled',
      error: '{"at once":1}',
      cancelReason: 'why',
      dueAt: null,
      endedAt: NOW,
      expiresAt: NOW + RETENTION,
    })
  })

  it('ends a run at once that was paused before it started', () => {
    const paused = requested(pauseRequested, pending)
    expect(cancelledBy(paused)).toMatchObject({ status: 'cancelled', pausedFrom: null })
  })

  it('makes a child due that never started, since its parent is to be told', () => {
    const child = created({ ...newRun, parentId: 'run-0', parentStep: 'a' }, 0)
    expect(cancelledBy(child, 'why', NOW)).toMatchObject({
      status: 'pending',
      dueAt: NOW,
      cancelReason: 'why',
      deliveries: 1,
    })
  })

  it('leaves a running run to its worker, who is told by the count of deliveries', () => {
    expect(cancelledBy(running)).toMatchObject({
      status: 'running',
      owner: 'worker-1',
      cancelReason: 'why',
      deliveries: 1,
    })
  })

  it('goes before a request to pause', () => {
    expect(cancelledBy(requested(pauseRequested, running)).pauseRequested).toBe(false)
  })

  it.each(['waiting', 'paused'] as const)('makes a %s run due', (status) => {
    expect(cancelledBy(states[status], 'why', NOW)).toMatchObject({
      status: 'pending',
      dueAt: NOW,
      pausedFrom: null,
      cancelReason: 'why',
    })
  })

  it('changes nothing if one was accepted before', () => {
    const run = cancelledBy(waiting, 'first')
    expect(cancelledBy(run, 'second')).toBe(run)
  })

  it('makes a run due that was paused while it cleaned up, for the first reason', () => {
    const paused = requested(pauseRequested, advanced(cancelledBy(running, 'first'), park, NOW))
    expect(cancelledBy(paused, 'second', NOW)).toMatchObject({
      status: 'pending',
      dueAt: NOW,
      cancelReason: 'first',
    })
  })

  it('changes nothing in a run that was cancelled', () => {
    expect(cancelledBy(states.cancelled)).toBe(states.cancelled)
  })

  it.each(['completed', 'failed'] as const)('is refused by a %s run', (status) => {
    expect(cancelRequested(states[status], 'why', '{}', NOW)).toBeNull()
  })
})

describe('a request to pause', () => {
  it.each(['pending', 'waiting'] as const)('sets a %s run aside, which keeps its time', (status) => {
    const timed = { ...states[status], dueAt: 8000 }
    expect(requested(pauseRequested, timed)).toMatchObject({
      status: 'paused',
      pausedFrom: status,
      dueAt: 8000,
    })
  })

  it('is noted by a running run, which is kept from parking before it has noticed', () => {
    expect(requested(pauseRequested, running)).toMatchObject({
      status: 'running',
      pauseRequested: true,
      deliveries: 1,
    })
  })

  it('changes nothing in a running run that has noted one', () => {
    const noted = requested(pauseRequested, running)
    expect(pauseRequested(noted, NOW)).toBe(noted)
  })

  it('changes nothing in a paused run', () => {
    expect(pauseRequested(states.paused, NOW)).toBe(states.paused)
  })

  it.each(['completed', 'failed', 'cancelled'] as const)('is refused by a %s run', (status) => {
    expect(pauseRequested(states[status], NOW)).toBeNull()
  })

  it.each<[string, (run: RunRecord) => RunRecord, RunRecord['pausedFrom']]>([
    ['parks', (run) => advanced(run, { ...park, dueAt: 8000, seen: 1 }, NOW), 'waiting'],
    ['fails and is to be retried', (run) => advanced(run, retry, NOW), 'pending'],
    ['loses its worker', (run) => reaped(run, 0, NOW), 'pending'],
  ])('is fulfilled when the running run %s', (_, leave, pausedFrom) => {
    expect(leave(requested(pauseRequested, running))).toMatchObject({
      status: 'paused',
      pausedFrom,
      pauseRequested: false,
      owner: null,
    })
  })
})

describe('a request to resume', () => {
  it.each(['pending', 'waiting'] as const)('takes a paused run back to %s, at its time', (status) => {
    const paused = requested(pauseRequested, { ...states[status], dueAt: 8000 })
    expect(requested(resumeRequested, paused)).toMatchObject({ status, pausedFrom: null, dueAt: 8000 })
  })

  it('takes back the reason for which the run was set aside', () => {
    expect(requested(resumeRequested, advanced(running, setAside, NOW)).error).toBeNull()
  })

  it('makes a parked run due to which something was delivered while it was paused', () => {
    expect(requested(resumeRequested, delivered(states.paused, 4000), NOW).dueAt).toBe(NOW)
  })

  it('leaves a retry its time, whatever was delivered while it was paused', () => {
    const paused = requested(pauseRequested, advanced(running, retry, NOW))
    expect(requested(resumeRequested, delivered(paused, 4000), NOW).dueAt).toBe(retry.dueAt)
  })

  it('takes back a request to pause that a running run has noted', () => {
    const noted = requested(pauseRequested, running)
    expect(requested(resumeRequested, noted)).toMatchObject({ status: 'running', pauseRequested: false })
  })

  it.each(statuses.filter((status) => status !== 'paused'))('is refused by a %s run', (status) => {
    expect(resumeRequested(states[status], NOW)).toBeNull()
  })
})

describe('a request to revive', () => {
  it.each(['failed', 'cancelled'] as const)('starts a %s run over, due now, in the next epoch', (status) => {
    expect(requested(reviveRequested, states[status], NOW)).toMatchObject({
      status: 'pending',
      dueAt: NOW,
      attempt: 1,
      epoch: 2,
    })
  })

  it('forgets how the run ended', () => {
    const ended = { ...advanced(cancelledBy(running), ends.failed, NOW), deaths: 4 }
    expect(requested(reviveRequested, ended)).toMatchObject({
      error: null,
      output: null,
      cancelReason: null,
      deaths: 0,
      endedAt: null,
      expiresAt: null,
    })
  })

  it('gives the run its whole timeout again', () => {
    const revived = requested(reviveRequested, states.failed)
    expect(claimed(revived, 'worker-1', NOW)).toMatchObject({ startedAt: NOW, deadline: NOW + TIMEOUT })
  })

  it('keeps the fence, so that late writes of the run’s former life are refused', () => {
    expect(requested(reviveRequested, states.failed).fence).toBe(states.failed.fence)
  })

  it.each(statuses.filter((status) => status !== 'failed' && status !== 'cancelled'))(
    'is refused by a %s run',
    (status) => {
      expect(reviveRequested(states[status], NOW)).toBeNull()
    },
  )
})

describe('a request to wake', () => {
  it.each(['pending', 'waiting'] as const)('makes a %s run due now', (status) => {
    expect(wakeRequested(states[status], NOW)).toEqual({ ...states[status], dueAt: NOW })
  })

  it.each(statuses.filter((status) => status !== 'pending' && status !== 'waiting'))(
    'is refused by a %s run',
    (status) => {
      expect(wakeRequested(states[status], NOW)).toBeNull()
    },
  )
})

/** One thing that happens to a run; `null` if it cannot happen to it as it is. `pick` chooses among variants. */
type Move = (run: RunRecord, now: number, pick: number) => RunRecord | null

/** The transitions of an execution that has looked at some of what was delivered, by `pick`. */
function leaving(run: RunRecord, now: number, pick: number): readonly Transition[] {
  const seen = run.seen + (pick % (run.deliveries - run.seen + 1))
  return [
    { ...park, seen },
    { ...park, dueAt: now + pick, seen },
    { ...retry, dueAt: now + pick, seen, attempt: run.attempt + 1, epoch: run.epoch + 1 },
    { ...setAside, seen },
  ]
}

const whileRunning =
  (move: Move): Move =>
  (run, now, pick) =>
    run.status === 'running' ? move(run, now, pick) : null

/** What stores do with a run, and only where they do it. */
const moves = {
  claim: (run, now, pick) => {
    const due =
      (run.status === 'pending' || run.status === 'waiting') && run.dueAt !== null && run.dueAt <= now
    return due ? claimed(run, `worker-${pick}`, now) : null
  },
  leave: whileRunning((run, now, pick) => {
    const to = leaving(run, now, pick)[pick % 4]
    return to === undefined ? null : advanced(run, to, now)
  }),
  complete: whileRunning((run, now) => advanced(run, ends.completed, now)),
  fail: whileRunning((run, now) => advanced(run, ends.failed, now)),
  endCancelled: whileRunning((run, now) => advanced(run, ends.cancelled, now)),
  reap: whileRunning((run, now) => reaped(run, 0, now)),
  deliver: (run, now) => (isTerminal(run.status) ? null : delivered(run, now)),
  cancel: (run, now, pick) => cancelRequested(run, `reason ${pick}`, '{"at once":1}', now),
  pause: (run, now) => pauseRequested(run, now),
  resume: (run, now) => resumeRequested(run, now),
  revive: (run, now) => reviveRequested(run, now),
  wake: (run, now) => wakeRequested(run, now),
} satisfies { readonly [name: string]: Move }

type MoveName = keyof typeof moves

const lives = fc.record({
  parentId: fc.constantFrom(null, 'run-0'),
  timeout: fc.constantFrom(null, TIMEOUT),
  story: fc.array(
    fc.record({
      name: fc.constantFrom(...(Object.keys(moves) as MoveName[])),
      // Claims are what most stories need to go on.
      claimsFirst: fc.boolean(),
      passes: fc.nat({ max: 40 }),
      pick: fc.nat({ max: 40 }),
    }),
    { maxLength: 30 },
  ),
})

interface Change {
  readonly name: MoveName
  readonly before: RunRecord
  readonly after: RunRecord
  readonly now: number
}

/** Calls `check` for every change in any life of a run. */
function inEveryLife(check: (change: Change) => void): void {
  fc.assert(
    fc.property(lives, ({ parentId, timeout, story }) => {
      let run = created({ ...newRun, parentId, policy: { ...newRun.policy, timeout }, dueAt: 0 }, 0)
      let now = 0
      const happens = (name: MoveName, pick: number): void => {
        const after = moves[name](run, now, pick)
        if (after === null) return
        check({ name, before: run, after, now })
        run = after
      }
      for (const { name, claimsFirst, passes, pick } of story) {
        now += passes
        if (claimsFirst) happens('claim', pick)
        happens(name, pick)
      }
    }),
    { numRuns: 500 },
  )
}

describe('in any life of a run', () => {
  it('an end is final, unless it is revived from a failure or a cancel', () => {
    inEveryLife(({ name, before, after }) => {
      if (!isTerminal(before.status) || name === 'revive') return
      expect(after).toBe(before)
    })
  })

  it('a completed run never changes', () => {
    inEveryLife(({ before }) => expect(before.status).not.toBe('completed'))
  })

  it('the fence is raised by every claim, and by nothing else', () => {
    inEveryLife(({ name, before, after }) => {
      expect(after.fence).toBe(name === 'claim' ? before.fence + 1 : before.fence)
    })
  })

  it('epoch and deliveries never decrease', () => {
    inEveryLife(({ before, after }) => {
      expect(after.epoch).toBeGreaterThanOrEqual(before.epoch)
      expect(after.deliveries).toBeGreaterThanOrEqual(before.deliveries)
    })
  })

  it('it has an owner exactly while it is running', () => {
    inEveryLife(({ after }) => expect(after.owner !== null).toBe(after.status === 'running'))
  })

  it('it has a time at which it is due only while it is pending, waiting or paused', () => {
    inEveryLife(({ after }) => {
      if (after.status === 'running' || isTerminal(after.status)) expect(after.dueAt).toBeNull()
    })
  })

  it('it is always due some time while it is pending', () => {
    inEveryLife(({ after }) => {
      if (after.status === 'pending') expect(after.dueAt).not.toBeNull()
    })
  })

  it('it knows what to go back to exactly while it is paused', () => {
    inEveryLife(({ after }) => expect(after.pausedFrom !== null).toBe(after.status === 'paused'))
  })

  it('it is asked to pause at its next stop only while it is running', () => {
    inEveryLife(({ after }) => {
      if (after.status !== 'running') expect(after.pauseRequested).toBe(false)
    })
  })

  it('it ends with an output or an error, never both', () => {
    inEveryLife(({ after }) => {
      if (!isTerminal(after.status)) return
      expect(after.output !== null).toBe(after.status === 'completed')
      expect(after.error !== null).toBe(after.status !== 'completed')
    })
  })

  it('it has no output before it ends', () => {
    inEveryLife(({ after }) => {
      if (!isTerminal(after.status)) expect(after.output).toBeNull()
    })
  })

  it('its end and its expiry are set exactly when it has ended', () => {
    inEveryLife(({ after }) => {
      expect([after.endedAt !== null, after.expiresAt !== null]).toEqual(
        isTerminal(after.status) ? [true, true] : [false, false],
      )
    })
  })

  it('it has a deadline exactly when it has started and has a timeout', () => {
    inEveryLife(({ after }) => {
      expect(after.deadline !== null).toBe(after.startedAt !== null && after.policy.timeout !== null)
    })
  })

  it('it never parks for good on a delivery that nobody has looked at', () => {
    inEveryLife(({ after }) => {
      if (after.status === 'waiting' && after.deliveries > after.seen) expect(after.dueAt).not.toBeNull()
    })
  })

  it('a cancel that is accepted ends it, reaches its worker, or makes it due', () => {
    inEveryLife(({ name, before, after, now }) => {
      if (name !== 'cancel' || after === before) return
      const reaches = after.status === 'running' || after.status === 'cancelled' || after.dueAt === now
      expect(reaches).toBe(true)
    })
  })

  it('a run that is to be cancelled never ends as completed or failed', () => {
    inEveryLife(({ before, after }) => {
      if (before.cancelReason === null || !isTerminal(after.status)) return
      expect(after.status).toBe('cancelled')
    })
  })
})

describe('what a run takes', () => {
  it('is anything while it lives, and nothing once it has completed', () => {
    for (const status of ['pending', 'running', 'waiting', 'paused'] as const) {
      expect([takes(status, 'event'), takes(status, 'child')]).toEqual([true, true])
    }
    expect([takes('completed', 'event'), takes('completed', 'child')]).toEqual([false, false])
  })

  it('is the end of its children while it may be revived', () => {
    for (const status of ['failed', 'cancelled'] as const) {
      expect([takes(status, 'event'), takes(status, 'child')]).toEqual([false, true])
    }
  })
})
