import type { Environment } from '../ports/environment.ts'

export interface Repeated {
  /** Runs the task now instead of later. */
  now(): void
  /** No further run begins. Resolves when a run that goes on has ended. */
  stop(): Promise<void>
}

/**
 * Calls `task` again and again, each time after the delay that the last call returned. A task that fails is
 * logged and called again after `onErrorMs`, so that an outage of the store neither ends a loop nor
 * makes it spin. The timers do not keep a process alive.
 */
export function repeat(
  env: Environment,
  what: string,
  task: () => Promise<number>,
  { firstMs, onErrorMs }: { readonly firstMs: number; readonly onErrorMs: number },
): Repeated {
  let stopped = false
  let cancel: () => void = () => {}
  let running: Promise<void> | null = null

  const arm = (delayMs: number): void => {
    if (!stopped) cancel = env.setTimer(delayMs, start, { background: true })
  }
  const run = async (): Promise<void> => {
    let delayMs = onErrorMs
    try {
      delayMs = await task()
    } catch (error) {
      if (!stopped) env.log.warn(`${what} failed; trying again`, { error: String(error), delayMs })
    }
    running = null
    arm(delayMs)
  }
  const start = (): void => {
    if (stopped || running !== null) return
    cancel()
    running = run()
  }
  arm(firstMs)
  return {
    now: start,
    stop: async () => {
      stopped = true
      cancel()
      await running
    },
  }
}
