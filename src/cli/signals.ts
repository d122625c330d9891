/** The signals that ask a process to stop, and the exit codes that say so. */
const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const

type StopSignal = keyof typeof SIGNALS

/** Waits for the process to be told to stop. */
export interface StopRequest {
  /** Resolves with the exit code of the first signal. The second one ends the process at once. */
  readonly requested: Promise<number>
  /** Gives the signals back to their default handling. */
  dispose(): void
}

/** Takes over the handling of the signals that ask the process to stop. */
export function onStopSignal(process: NodeJS.Process): StopRequest {
  let isStopping = false
  let resolve: (exitCode: number) => void = () => {}
  const requested = new Promise<number>((done) => {
    resolve = done
  })
  const handle = (signal: NodeJS.Signals): void => {
    const exitCode = SIGNALS[signal as StopSignal]
    if (isStopping) process.exit(exitCode)
    isStopping = true
    resolve(exitCode)
  }
  const signals = Object.keys(SIGNALS) as StopSignal[]
  for (const signal of signals) process.on(signal, handle)
  return {
    requested,
    dispose: () => {
      for (const signal of signals) process.off(signal, handle)
    },
  }
}
