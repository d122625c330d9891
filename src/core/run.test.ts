import { describe, expect, it } from 'vitest'
import { isTerminal, type RunStatus } from './run.ts'

const terminal: { readonly [status in RunStatus]: boolean } = {
  pending: false,
  running: false,
  waiting: false,
  paused: false,
  completed: true,
  failed: true,
  cancelled: true,
}

describe('isTerminal', () => {
  it.each(Object.entries(terminal))('says of %s: %s', (status, expected) => {
    expect(isTerminal(status as RunStatus)).toBe(expected)
  })
})
