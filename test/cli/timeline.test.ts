import { describe, expect, it } from 'vitest'
import { createColours } from '../../src/cli/format/colours.ts'
import { runJson } from '../../src/cli/format/run.ts'
import { summary } from '../../src/cli/format/summary.ts'
import { timeline } from '../../src/cli/format/timeline.ts'
import { displayWidth } from '../../src/cli/format/width.ts'
import type { HistoryEntry, RunRecord } from '../../src/index.ts'

const START = Date.UTC(2026, 6, 1, 12)
const HOUR = 3_600_000

const run: RunRecord = {
  ...{ id: 'r', workflow: 'order', version: '', queue: 'default', key: null, priority: 0, tags: [] },
  ...{ status: 'waiting', dueAt: null, attempt: 1, epoch: 1, deaths: 0, owner: null, fence: 1 },
  ...{ deliveries: 0, seen: 0, cancelReason: null, pauseRequested: false, pausedFrom: null },
  ...{ input: '[{"id":1},7]', output: null, error: null, parentId: null, parentStep: null },
  policy: { retry: null, timeout: null, retention: HOUR, call: null },
  ...{ deadline: null, createdAt: START - 5, startedAt: START, endedAt: null, expiresAt: null },
}

const step: HistoryEntry = {
  ...{ name: 'charge', kind: 'step', status: 'succeeded', target: null, childId: null },
  ...{ result: undefined, error: undefined, attempts: [] },
  ...{ startedAt: START, endedAt: START + 500, dueAt: null },
}

function show(
  entries: readonly Partial<HistoryEntry>[],
  {
    width = null,
    of = run,
    children = [],
  }: { width?: number | null; of?: RunRecord; children?: RunRecord[] } = {},
): string[] {
  const history = { run: of, entries: entries.map((entry) => ({ ...step, ...entry })) }
  const options = { now: START + 1000, width, colours: createColours(false), stacks: false, children }
  return timeline(history, options)
}

describe('timeline', () => {
  it('shows when each step took place', () => {
    const lines = show([{}, { name: 'ship', startedAt: START + 500, endedAt: START + 1000 }], { width: 80 })
    expect(lines).toEqual([
      '   STEP    KIND   START   TOOK',
      '✓  charge  step    +0ms  500ms  ████████████',
      '✓  ship    step  +500ms  500ms              ████████████',
    ])
  })

  it('shows what failed, and with what', () => {
    const error = new Error('refused', { cause: new TypeError('no route') })
    const attempts = [{ attempt: 1, startedAt: START, endedAt: START + 20, error: new Error('busy\x1b') }]
    expect(show([{ status: 'failed', error, attempts }]).slice(2)).toEqual([
      '     attempt 1 failed (+0ms, 20ms): Error: busy\\x1b',
      '     Error: refused',
      '       caused by TypeError: no route',
    ])
  })

  it.each<[string, Partial<HistoryEntry>, RegExp]>([
    ['a sleep', { kind: 'sleep' }, /sleeps until .* \(in 59m 59s\)/],
    ['an event', { kind: 'event', target: 'paid' }, /waits for event "paid" until .* \(in 59m 59s\)/],
    [
      'an event without limit',
      { kind: 'event', dueAt: null },
      /waits for event "charge" without a time limit/,
    ],
    ['a retry', { kind: 'step' }, /is tried again at .* \(in 59m 59s\)/],
    ['a child', { kind: 'child', childId: 'c', dueAt: null, status: 'scheduled' }, /waits for run c/],
  ])('shows what a run waits for: %s', (_, entry, text) => {
    const waiting = { status: 'waiting', endedAt: null, dueAt: START + HOUR, ...entry } as const
    const lines = show([waiting])
    expect(lines[1]).toMatch(/^·.*░$/)
    expect(lines[2]).toMatch(text)
  })

  it('does not say that an ended run waits', () => {
    const waiting = { status: 'waiting', kind: 'event', endedAt: null } as const
    expect(show([waiting], { of: { ...run, status: 'cancelled', endedAt: START + 9 } })).toHaveLength(2)
  })

  it('shows the state of children', () => {
    const child = { kind: 'child', target: 'mail', childId: 'c' } as const
    expect(show([child], { children: [{ ...run, id: 'c', status: 'failed' }] })[2]).toBe('     run c failed')
    expect(show([child])[2]).toBe('     run c (not kept any more)')
  })

  it('fits the terminal, but for errors', () => {
    const long = 'x'.repeat(300)
    const lines = show([{ name: long, result: long }, { name: '日'.repeat(80) }], { width: 60 })
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(60)
    expect(lines[1]).toContain('…')
  })

  it('shows entries whose times are no times', () => {
    const bad = { startedAt: Number.NaN, endedAt: Number.NaN, dueAt: Number.POSITIVE_INFINITY }
    expect(show([bad, {}])).toHaveLength(3)
  })
})

describe('summary', () => {
  const options = { now: START + 1000, width: null, colours: createColours(false), stacks: false }

  it('leaves out what says nothing', () => {
    const lines = summary(run, options).map((line) => line.replace(/\d{4}-.*? \(/, 'T ('))
    expect(lines).toEqual([
      'Run r  waiting',
      'workflow   order',
      'created    T (1s ago)',
      'started    T (1s ago)',
      'due        when something is delivered to it',
      'input      {"id":7}',
    ])
  })

  it('shows what is special, safely', () => {
    const special = {
      ...run,
      key: 'a\x1bb',
      queue: 'q',
      tags: ['x', 'y'],
      version: '2',
      cancelReason: '',
      deaths: 2,
    }
    const text = summary(special, options).join('\n')
    expect(text).toContain('key        a\\x1bb')
    expect(text).toContain('order (version 2)')
    expect(text).toContain('tags       x, y')
    expect(text).toContain('cancel     requested: (no reason given)')
    expect(text).toContain('attempt    1; 2 in a row')
  })

  it('shows the rest of a run of which one value is damaged', () => {
    const damaged = { ...run, input: '{', error: 'nonsense' }
    const text = summary(damaged, options).join('\n')
    expect(text).toMatch(/input {6}\(cannot be read: .*\)/)
    expect(text).toMatch(/error {6}\(cannot be read: .*\)/)
    expect(runJson(damaged)).toMatchObject({ id: 'r', input: { unreadable: expect.any(String) } })
  })
})
