import type { CrashReport } from 'perdure/testing'
import { beforeEach, vi } from 'vitest'

/** Keeps what the services of the examples say out of the output of the tests. */
export function silenceConsole(): void {
  beforeEach(() => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    return () => log.mockRestore()
  })
}

/** The counters, but no step bodies, that grew more often with some crash than without. */
export function repeatedEffects({ repeated }: CrashReport): string[] {
  return repeated.map(({ name }) => name).filter((name) => !name.startsWith('step '))
}
