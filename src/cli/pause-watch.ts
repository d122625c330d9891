import type { RunHandle } from '../index.ts'

const LOOK_EVERY_MS = 500

/** Notices that a run is paused: it would not end, and who waits for its result would not learn why. */
export interface PauseWatch {
  readonly paused: Promise<void>
  stop(): void
}

/** Looks at a run now and then, until it is paused or the watch is stopped. */
export function watchForPause(handle: Pick<RunHandle, 'status'>): PauseWatch {
  let stop = (): void => {}
  const paused = new Promise<void>((resolve) => {
    const look = (): void => {
      handle.status().then(
        (status) => {
          if (status === 'paused') resolve()
        },
        // Whoever waits for the result is told of it; here the next look may succeed.
        () => {},
      )
    }
    const timer = setInterval(look, LOOK_EVERY_MS)
    stop = () => clearInterval(timer)
  })
  return { paused, stop: () => stop() }
}
