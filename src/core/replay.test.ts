import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NonDeterminismError } from './errors.ts'
import { type Answer, type Asked, AT_MOST_ONCE, PATCH_TARGET, Replay } from './replay.ts'
import type { Entry, EntryKind, EntryStatus } from './run.ts'
import { checkpointKey, INTERRUPT_KEY, LAST_SAVE_KEY, StepNames } from './step-names.ts'

const EPOCH = 3

/** An inline step of this epoch that succeeded, unless the fields say otherwise. */
function entry(key: string, fields: Partial<Entry> = {}): Entry {
  return {
    key,
    kind: 'step',
    status: 'succeeded',
    target: null,
    childId: null,
    epoch: EPOCH,
    order: null,
    value: '[1]',
    attempts: [],
    dueAt: null,
    startedAt: 0,
    endedAt: 0,
    ...fields,
  }
}

const replayOf = (...entries: readonly Entry[]): Replay => new Replay(entries, EPOCH)

const step = (key: string): Asked => ({ key, kind: 'step', target: null })

/** The mark of a patch, as `step.patched` writes it. */
const marker = (id: string): Entry =>
  entry(`${PATCH_TARGET}:${id}`, { kind: 'value', target: PATCH_TARGET, value: '[true]' })

function mismatch(answer: Answer): NonDeterminismError {
  if (answer.type !== 'mismatch') throw new Error(`The answer is ${answer.type}.`)
  return answer.error
}

/** Everything that the journal hands out, by key, `save` for a gap. */
function handedOut(replay: Replay): string[] {
  const keys: string[] = []
  for (let next = replay.peek(); next !== null; next = replay.peek()) {
    keys.push(next.type === 'save' ? 'save' : next.entry.key)
    replay.handOut()
  }
  return keys
}

describe('an empty journal', () => {
  it('knows nothing', () => {
    expect(replayOf().ask(step('a'))).toEqual({ type: 'fresh' })
  })

  it('hands out nothing', () => {
    expect(replayOf().peek()).toBeNull()
  })

  it('is not replayed', () => {
    expect(replayOf().replaying).toBe(false)
  })

  it('lets the function end', () => {
    expect(replayOf().endedEarly()).toBeNull()
  })

  it('numbers the outcomes that happen from 1', () => {
    const replay = replayOf()
    expect([replay.handOut(), replay.handOut(), replay.handedOut]).toEqual([1, 2, 2])
  })
})

describe('what the journal knows of a request', () => {
  it.each<[EntryStatus, Answer['type']]>([
    ['succeeded', 'recorded'],
    ['failed', 'recorded'],
    ['waiting', 'open'],
    ['scheduled', 'open'],
    ['running', 'open'],
  ])('calls an entry of this epoch that is %s %s', (status, type) => {
    const held = entry('a', { status })
    expect(replayOf(held).ask(step('a'))).toEqual({ type, entry: held })
  })

  it.each<[EntryKind, EntryStatus, Answer['type']]>([
    ['step', 'succeeded', 'carried'],
    ['step', 'running', 'open'],
    ['child', 'succeeded', 'carried'],
    ['child', 'scheduled', 'open'],
    ['sleep', 'waiting', 'open'],
    ['event', 'waiting', 'open'],
  ])('calls a %s from before the run started over that is %s %s', (kind, status, type) => {
    const held = entry('a', { kind, status, epoch: EPOCH - 1 })
    expect(replayOf(held).ask({ key: 'a', kind, target: null })).toEqual({ type, entry: held })
  })

  it.each<[EntryKind, EntryStatus]>([
    ['step', 'failed'],
    ['step', 'waiting'],
    ['child', 'failed'],
  ])('begins a %s anew that was %s before the run started over', (kind, status) => {
    const held = entry('a', { kind, status, epoch: EPOCH - 1 })
    expect(replayOf(held).ask({ key: 'a', kind, target: null })).toEqual({ type: 'fresh' })
  })

  it.each<[string, Partial<Asked>]>([
    ['kind', { kind: 'child' }],
    ['target', { target: 'mail' }],
  ])('ignores an entry from before the run started over that is of another %s', (_, other) => {
    const held = entry('a', { epoch: EPOCH - 1 })
    expect(replayOf(held).ask({ ...step('a'), ...other })).toEqual({ type: 'fresh' })
  })

  it('tells the uses of a name apart', () => {
    const names = new StepNames()
    const replay = replayOf(entry('a', { value: '[1]' }), entry('a#2', { value: '[2]' }))
    const asked = ['a', 'a', 'a'].map((name) => replay.ask(step(names.next(name))))
    expect(asked).toMatchObject([
      { type: 'recorded', entry: { value: '[1]' } },
      { type: 'recorded', entry: { value: '[2]' } },
      { type: 'fresh' },
    ])
  })

  it('knows a patch that the code still asks for', () => {
    const asked = { key: 'patched:new-tax', kind: 'value', target: PATCH_TARGET } as const
    expect(replayOf(marker('new-tax')).ask(asked).type).toBe('recorded')
  })

  it('takes no checkpoint for a step', () => {
    const key = checkpointKey('stage')
    expect(replayOf(entry(key, { kind: 'checkpoint' })).ask(step(key))).toEqual({ type: 'fresh' })
  })
})

describe('a request that does not fit the journal', () => {
  it('is a mismatch of kind', () => {
    const answer = replayOf(entry('pay')).ask({ key: 'pay', kind: 'sleep', target: null })
    expect(mismatch(answer).message).toContain(
      'Step "pay" is a step in the journal, but the code asks for a sleep.',
    )
  })

  it('is a mismatch of target', () => {
    const held = entry('pay', { kind: 'child', target: 'bill' })
    const answer = replayOf(held).ask({ key: 'pay', kind: 'child', target: 'invoice' })
    expect(mismatch(answer).message).toContain(
      'Step "pay" is a child "bill" in the journal, but the code asks for a child "invoice".',
    )
  })

  it('is a NonDeterminismError that says what to do', () => {
    const answer = replayOf(entry('pay')).ask({ key: 'pay', kind: 'sleep', target: null })
    expect(mismatch(answer)).toMatchObject({
      code: 'NON_DETERMINISM',
      message: expect.stringContaining('then resume the run.'),
    })
  })

  it('names the step as its author wrote it', () => {
    const answer = replayOf(entry('pay##1')).ask({ key: 'pay##1', kind: 'sleep', target: null })
    expect(mismatch(answer).message).toContain('Step "pay#1"')
  })

  it('leaves the entry to whoever asks for it rightly', () => {
    const replay = replayOf(entry('pay'))
    replay.ask({ key: 'pay', kind: 'sleep', target: null })
    expect(replay.ask(step('pay')).type).toBe('recorded')
  })
})

describe('the order of outcomes', () => {
  it('is the recorded one, not that of the entries', () => {
    const replay = replayOf(
      entry('c', { order: 3 }),
      entry('a', { order: 1 }),
      entry('b', { order: 2, status: 'failed' }),
    )
    expect(handedOut(replay)).toEqual(['a', 'b', 'c'])
  })

  it('has a gap for each save', () => {
    const replay = replayOf(entry('a', { order: 2 }), entry('b', { order: 5 }))
    expect(handedOut(replay)).toEqual(['save', 'a', 'save', 'save', 'b'])
  })

  it('has a place for an interrupt', () => {
    const interrupt = entry(INTERRUPT_KEY, { kind: 'interrupt', status: 'failed', order: 2 })
    expect(handedOut(replayOf(entry('a', { order: 1 }), interrupt))).toEqual(['a', INTERRUPT_KEY])
  })

  it('has no place for what was not handed out, or before the run started over', () => {
    const replay = replayOf(
      entry('open', { status: 'waiting' }),
      entry('old', { order: 1, epoch: EPOCH - 1 }),
      entry('a', { order: 1 }),
    )
    expect(handedOut(replay)).toEqual(['a'])
  })

  it('goes on after the last recorded number', () => {
    const replay = replayOf(entry('a', { order: 2 }))
    handedOut(replay)
    expect(replay.handOut()).toBe(3)
  })

  it('does not move on by looking', () => {
    const replay = replayOf(entry('a', { order: 1 }), entry('b', { order: 2 }))
    replay.peek()
    expect(replay.peek()).toMatchObject({ entry: { key: 'a' } })
  })
})

describe('replaying', () => {
  it('goes on until all is asked for', () => {
    const replay = replayOf(entry('a', { status: 'waiting' }), entry('b', { status: 'waiting' }))
    replay.ask(step('a'))
    expect(replay.replaying).toBe(true)
  })

  it('goes on until all is handed out', () => {
    const replay = replayOf(entry('a', { order: 1 }))
    replay.ask(step('a'))
    expect(replay.replaying).toBe(true)
  })

  it('is over once all is asked for and handed out', () => {
    const replay = replayOf(entry('a', { order: 1 }))
    replay.ask(step('a'))
    replay.handOut()
    expect(replay.replaying).toBe(false)
  })

  it.each<[string, Entry]>([
    ['a checkpoint', entry(checkpointKey('a'), { kind: 'checkpoint' })],
    ['what the run did before it started over', entry('a', { epoch: EPOCH - 1, order: 1 })],
    ['a patch that the code no longer asks for', marker('new-tax')],
  ])('is not prolonged by %s', (_, held) => {
    expect(replayOf(held).replaying).toBe(false)
  })
})

describe('a function that ends', () => {
  it('has ended well if it asked for everything', () => {
    const replay = replayOf(entry('a'), entry('b', { status: 'waiting' }))
    for (const key of ['b', 'a']) replay.ask(step(key))
    expect(replay.endedEarly()).toBeNull()
  })

  it.each<[string, Entry]>([
    ['a checkpoint', entry(checkpointKey('a'), { kind: 'checkpoint' })],
    ['what the run did before it started over', entry('a', { epoch: EPOCH - 1 })],
    ['an interrupt', entry(INTERRUPT_KEY, { kind: 'interrupt', order: 1 })],
    ['a patch', marker('new-tax')],
  ])('need not ask for %s', (_, held) => {
    expect(replayOf(held).endedEarly()).toBeNull()
  })

  it('has ended early if an entry was not asked for, which is named with its kind', () => {
    const replay = replayOf(entry('a'), entry('nap##1', { kind: 'sleep' }), marker('new-tax'))
    replay.ask(step('a'))
    expect(replay.endedEarly()?.message).toContain(
      'The code ended without asking for "nap#1" (sleep), which the journal holds.',
    )
  })

  it.each<EntryKind>(['child', 'event'])(
    'must ask for a %s that is called like the mark of a patch',
    (kind) => {
      const replay = replayOf(entry('a', { kind, target: PATCH_TARGET }))
      expect(replay.endedEarly()).toBeInstanceOf(NonDeterminismError)
    },
  )

  it('has ended early if it asked for the entry as something else', () => {
    const replay = replayOf(entry('a'))
    replay.ask({ key: 'a', kind: 'sleep', target: null })
    expect(replay.endedEarly()).toBeInstanceOf(NonDeterminismError)
  })

  it('is told of five entries by name', () => {
    const replay = replayOf(...['a', 'b', 'c', 'd', 'e'].map((key) => entry(key)))
    expect(replay.endedEarly()?.message).toContain('"d" (step), "e" (step), which the journal holds.')
  })

  it('is told of more entries by their number', () => {
    const replay = replayOf(...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key) => entry(key)))
    expect(replay.endedEarly()?.message).toContain('"e" (step) and 2 more, which the journal holds.')
  })
})

describe('a function that does not ask for what comes next', () => {
  const next = entry('pay##1', { kind: 'child', target: 'bill', order: 1 })

  it.each<[string, readonly string[], string]>([
    ['nothing', [], 'no step'],
    ['one step', ['nap'], '"nap"'],
    ['several steps, as their author wrote them', ['nap', 'a##2'], '"nap", "a#2"'],
  ])('is told of both sides while it waits for %s', (_, waitingFor, asked) => {
    expect(replayOf(next).stalled(next, waitingFor).message).toContain(
      `The journal holds the outcome of "pay#1" (child) next, but the code is waiting for ${asked}.`,
    )
  })

  it('gets a NonDeterminismError', () => {
    expect(replayOf(next).stalled(next, [])).toBeInstanceOf(NonDeterminismError)
  })
})

/** A call of the function, and how it ended if it did. */
interface Call {
  readonly asked: Asked
  readonly status: EntryStatus
}

const calls = fc
  .array(
    fc.record({
      name: fc.constantFrom('a', 'b', 'a#2', '#'),
      kind: fc.constantFrom<EntryKind>('step', 'child', 'sleep', 'event'),
      target: fc.constantFrom(null, 'x'),
      status: fc.constantFrom<EntryStatus>('succeeded', 'failed', 'waiting'),
    }),
    { maxLength: 12 },
  )
  .map((drawn): Call[] => {
    const names = new StepNames()
    return drawn.map(({ name, kind, target, status }) => {
      return { asked: { key: names.next(name), kind, target }, status }
    })
  })

const shuffled = <Item>(items: readonly Item[]): fc.Arbitrary<Item[]> =>
  fc.shuffledSubarray([...items], { minLength: items.length })

/** A first execution: its calls, the outcomes and saves in the order in which they happened, and its journal. */
const executions = fc.tuple(calls, fc.nat({ max: 4 })).chain(([made, saves]) => {
  const ended = made.filter(({ status }) => status !== 'waiting').map(({ asked }) => asked.key)
  const happenings = [...ended, ...new Array<string>(saves).fill('save')]
  return shuffled(happenings).chain((order) => {
    const journal = made.map(({ asked, status }) => {
      const place = order.indexOf(asked.key) + 1
      return entry(asked.key, { ...asked, status, order: place === 0 ? null : place })
    })
    return fc.record({
      calls: fc.constant(made),
      order: fc.constant(order),
      journal: shuffled(journal),
    })
  })
})

describe('any recorded execution', () => {
  it('is answered as it was recorded when it asks again', () => {
    fc.assert(
      fc.property(executions, ({ calls: made, journal }) => {
        const replay = replayOf(...journal)
        for (const { asked, status } of made) {
          const type = status === 'waiting' ? 'open' : 'recorded'
          expect(replay.ask(asked)).toMatchObject({ type, entry: { ...asked, status } })
        }
      }),
    )
  })

  it('is handed its outcomes in the recorded order, its saves among them, but for those after the last outcome', () => {
    fc.assert(
      fc.property(executions, ({ order, journal }) => {
        const last = order.findLastIndex((key) => key !== 'save')
        expect(handedOut(replayOf(...journal))).toEqual(order.slice(0, last + 1))
      }),
    )
  })

  it('is replayed exactly until it has asked for everything and been handed everything', () => {
    fc.assert(
      fc.property(executions, ({ calls: made, journal }) => {
        const replay = replayOf(...journal)
        handedOut(replay)
        for (const { asked } of made) {
          expect(replay.replaying).toBe(true)
          replay.ask(asked)
        }
        expect(replay.replaying).toBe(false)
      }),
    )
  })

  it('may end exactly when it has asked for everything', () => {
    fc.assert(
      fc.property(executions, ({ calls: made, journal }) => {
        const replay = replayOf(...journal)
        for (const { asked } of made) {
          expect(replay.endedEarly()).not.toBeNull()
          replay.ask(asked)
        }
        expect(replay.endedEarly()).toBeNull()
      }),
    )
  })

  it('binds nobody once the run has started over', () => {
    fc.assert(
      fc.property(executions, ({ journal }) => {
        const replay = new Replay(journal, EPOCH + 1)
        expect([replay.replaying, replay.peek(), replay.endedEarly()]).toEqual([false, null, null])
      }),
    )
  })
})

describe('the place of the newest save', () => {
  const marked = (order: number): Entry => entry(LAST_SAVE_KEY, { kind: 'checkpoint', order })

  it('is where its marker says', () => {
    expect(handedOut(replayOf(entry('a', { order: 1 }), marked(2)))).toEqual(['a', 'save'])
  })

  it('is not where an outcome has come before it', () => {
    expect(handedOut(replayOf(entry('a', { order: 1 }), marked(1)))).toEqual(['a'])
  })
})

describe('a step that must not be begun twice', () => {
  const earlier = { epoch: EPOCH - 1, target: AT_MOST_ONCE } as const
  const asked: Asked = { key: 'a', kind: 'step', target: AT_MOST_ONCE }

  it.each(['failed', 'succeeded'] as const)('takes over that it %s before the run started over', (status) => {
    expect(replayOf(entry('a', { ...earlier, status })).ask(asked).type).toBe('carried')
  })

  it('is still open if it was running', () => {
    expect(replayOf(entry('a', { ...earlier, status: 'running' })).ask(asked).type).toBe('open')
  })
})
