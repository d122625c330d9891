import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Link, type LinkOptions, type Session } from '../../src/notifiers/link.ts'
import { Outage } from '../../src/notifiers/outage.ts'
import { Outbox } from '../../src/notifiers/outbox.ts'
import { Backoff, TIMINGS } from '../../src/notifiers/time.ts'
import { ended, MemoryLog } from './kit.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

describe('B126: trouble that lasts', () => {
  test('pauses grow from 100 ms to 4 s, with jitter', () => {
    const backoff = new Backoff(TIMINGS)
    for (const longest of [100, 200, 400, 800, 1_600, 3_200, 4_000, 4_000, 4_000]) {
      const pause = backoff.next()
      expect(pause).toBeGreaterThanOrEqual(longest / 2)
      expect(pause).toBeLessThanOrEqual(longest)
    }
    for (let i = 0; i < 2_000; i++) expect(backoff.next()).toBeLessThanOrEqual(4_000)
    backoff.reset()
    expect(backoff.next()).toBeLessThanOrEqual(100)
  })

  test('it is told once per outage, and at most once a minute where outages follow each other', () => {
    const log = new MemoryLog()
    const outage = new Outage('no way', () => log, 60_000)
    for (let i = 0; i < 100; i++) outage.failed(new Error('why'))
    expect(log.all).toEqual(['no way Error: why'])
    for (let i = 0; i < 100; i++) {
      outage.over()
      outage.failed()
    }
    expect(log.all).toHaveLength(1)
    vi.advanceTimersByTime(60_000)
    outage.failed()
    expect(log.all).toHaveLength(2)
    vi.advanceTimersByTime(60_000)
    outage.failed()
    expect(log.all).toHaveLength(2)
  })

  test('a log that throws is ignored', () => {
    const broken = (): never => {
      throw new Error('disk full')
    }
    expect(() => new Outage('no way', broken, 0).failed()).not.toThrow()
    expect(() => new Outage('no way', () => ({ warn: broken }), 0).failed()).not.toThrow()
  })

  test('a connection that cannot be made is tried now and then, not all the time', async () => {
    const { link, opened } = start(async () => {
      throw new Error('refused')
    })
    await vi.advanceTimersByTimeAsync(60_000)
    expect(opened()).toBeGreaterThan(8)
    expect(opened()).toBeLessThan(45)
    await link.stop()
  })

  test('so is one that is lost right after it was made', async () => {
    const { link, opened } = start(async (lose) => lose())
    await vi.advanceTimersByTimeAsync(60_000)
    expect(opened()).toBeLessThan(45)
    await link.stop()
  })

  test('one that held for long is replaced quickly', async () => {
    let lose: () => void = () => {}
    const { link, opened } = start(async (it) => {
      lose = it
    })
    for (let times = 1; times < 20; times++) {
      await vi.advanceTimersByTimeAsync(15_000)
      expect(opened()).toBe(times)
      lose()
      await vi.advanceTimersByTimeAsync(100)
    }
    await link.stop()
  })

  test('what cannot be sent is dropped, and there is a pause', async () => {
    let calls = 0
    const log = new MemoryLog()
    const send = async (): Promise<void> => {
      calls += 1
      throw new Error('refused')
    }
    const outage = new Outage('cannot send', () => log, 60_000)
    const outbox = new Outbox({ sender: 'me', send, outage, timings: TIMINGS })
    for (let i = 0; i < 6_000; i++) {
      outbox.add([ended(`run-${i}`)])
      await vi.advanceTimersByTimeAsync(10)
    }
    expect(calls).toBeLessThan(45)
    expect(log.all).toEqual(['cannot send Error: refused'])
    await outbox.close()
  })
})

/** A link whose sessions do this when they start. */
function start(starting: (lose: () => void) => Promise<void>): { link: Link; opened: () => number } {
  let opened = 0
  const open: LinkOptions['open'] = ({ lost }): Session => {
    opened += 1
    return {
      start: () => starting(() => lost(new Error('lost'))),
      probe: async () => {},
      close: async () => {},
    }
  }
  const outage = new Outage('', () => null, 0)
  const link = new Link({
    open,
    onHeard: () => {},
    onListening: () => {},
    trial: null,
    outage,
    deafness: outage,
    timings: TIMINGS,
  })
  return { link, opened: () => opened }
}
