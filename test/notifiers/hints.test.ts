import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decode,
  encode,
  encodeEmpty,
  HintBatch,
  MAX_GATHERED_IDS,
  MAX_MESSAGE_BYTES,
} from '../../src/notifiers/hints.ts'
import type { Hint } from '../../src/ports/notifier.ts'

const runId = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 256 }),
  fc.uuid(),
  fc.constantFrom('\0'.repeat(256), '\ud800', 'a\udc00b', '😀'.repeat(64), '"\\\n', 'é', "'; DROP"),
)

const hint: fc.Arbitrary<Hint> = fc.oneof(
  fc.record({ kind: fc.constant('due' as const), at: fc.oneof(fc.constant(0), fc.double({ noNaN: true })) }),
  fc.record({ kind: fc.constantFrom('delivered' as const, 'ended' as const), runId }),
)

function batchOf(hints: readonly Hint[]): HintBatch {
  const batch = new HintBatch()
  batch.add(hints)
  return batch
}

function roundTrip(hints: readonly Hint[]): HintBatch {
  const messages = encode('me', batchOf(hints))
  return batchOf(messages.flatMap((message) => decode(message)?.hints ?? []))
}

describe('hints on their way', () => {
  test('whatever the ids are, what arrives is what was sent', () => {
    fc.assert(
      fc.property(fc.array(hint, { maxLength: 60 }), (hints) => {
        const sent = batchOf(hints)
        const arrived = roundTrip(hints)
        expect(arrived.due).toBe(sent.due === null ? null : sent.due + 0)
        expect(arrived.delivered).toEqual(sent.delivered)
        expect(arrived.ended).toEqual(sent.ended)
      }),
    )
  })

  test('no message is longer than a NOTIFY may be, and all are ASCII', () => {
    fc.assert(
      fc.property(fc.array(hint, { maxLength: 200 }), (hints) => {
        for (const message of encode('me', batchOf(hints))) {
          expect(Buffer.byteLength(message)).toBeLessThanOrEqual(MAX_MESSAGE_BYTES)
          expect(message).toMatch(/^[ -~]*$/)
        }
      }),
    )
  })

  test('the messages of many runs are filled, not one for each', () => {
    const hints = Array.from({ length: 1_000 }, (_, i) => ({ kind: 'ended' as const, runId: `run-${i}` }))
    expect(encode('me', batchOf(hints)).length).toBeLessThanOrEqual(2)
  })

  test('of several due times the earliest goes, of the same run one hint', () => {
    const messages = encode(
      'me',
      batchOf([
        { kind: 'due', at: 500 },
        { kind: 'ended', runId: 'a' },
        { kind: 'due', at: 300 },
        { kind: 'ended', runId: 'a' },
        { kind: 'delivered', runId: 'a' },
      ]),
    )
    expect(messages.map(decode)).toEqual([
      {
        sender: 'me',
        hints: [
          { kind: 'due', at: 300 },
          { kind: 'delivered', runId: 'a' },
          { kind: 'ended', runId: 'a' },
        ],
      },
    ])
  })

  test('a time that is none is left out', () => {
    expect(batchOf([{ kind: 'due', at: Number.NaN }]).isEmpty).toBe(true)
    expect(batchOf([{ kind: 'due', at: Number.POSITIVE_INFINITY }]).isEmpty).toBe(true)
    expect(encode('me', new HintBatch())).toEqual([])
  })

  test('what waits to be sent is bounded', () => {
    const batch = new HintBatch()
    for (let i = 0; i < 2 * MAX_GATHERED_IDS; i++) batch.add([{ kind: 'delivered', runId: String(i) }])
    batch.add([{ kind: 'due', at: 7 }])
    expect(batch.delivered.size).toBe(MAX_GATHERED_IDS)
    expect(batch.due).toBe(7)
  })

  test('an id that fits into no message is left out, and the others go', () => {
    const arrived = roundTrip([
      { kind: 'ended', runId: 'x'.repeat(8_000) },
      { kind: 'ended', runId: 'b' },
    ])
    expect([...arrived.ended]).toEqual(['b'])
  })

  test('a message without hints says who sent it', () => {
    expect(decode(encodeEmpty('me'))).toEqual({ sender: 'me', hints: [] })
  })

  test('whatever strangers send is ignored or read without an error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const message = decode(text)
        if (message !== null) expect(typeof message.sender).toBe('string')
      }),
    )
  })

  test.each([
    '',
    'null',
    '{}',
    '[]',
    '[1]',
    '[1,2]',
    '[2,"me",0,[],[]]',
    '[1,"me"',
    `[1,"me",0,["${'x'.repeat(8_000)}"],[]]`,
  ])('%.20j is no message', (text) => {
    expect(decode(text)).toBeNull()
  })

  test.each(['[1,"me"]', '[1,"me","soon",7,{}]', '[1,"me",1e999,[1,null,[]],["ok",2]]'])(
    'of %j only the hints that are some are taken',
    (text) => {
      expect(decode(text)?.hints.filter((item) => item.kind !== 'ended')).toEqual([])
    },
  )
})
