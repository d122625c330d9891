/** Waiting, in the background: none of it keeps a process alive unless it says so. */

/** How long things take and may take, in ms. */
export interface Timings {
  /** A connection that was silent for so long is tried: it may be gone without a word. */
  readonly probe: number
  /** How long a call may go without an answer. */
  readonly answer: number
  /** The first pause after a failure; each further one is twice as long. */
  readonly firstPause: number
  /** The longest pause. */
  readonly longestPause: number
  /** The pause after it turned out that nothing arrives over a connection that seems to work. */
  readonly deafPause: number
  /** How long closing waits for hints that are being sent, and for the good order of connections. */
  readonly farewell: number
  /** Trouble of the same kind is told at most once in this time. */
  readonly quiet: number
}

export const TIMINGS: Timings = {
  probe: 30_000,
  answer: 5_000,
  firstPause: 100,
  longestPause: 4_000,
  deafPause: 300_000,
  farewell: 1_000,
  quiet: 60_000,
}

/** Pauses that grow from failure to failure. The jitter keeps many processes from coming back at the same moment. */
export class Backoff {
  readonly #timings: Timings
  #failures = 0

  constructor(timings: Timings) {
    this.#timings = timings
  }

  next(): number {
    const { firstPause, longestPause } = this.#timings
    const pause = Math.min(firstPause * 2 ** this.#failures, longestPause)
    this.#failures = Math.min(this.#failures + 1, 30)
    return pause * (0.5 + Math.random() / 2)
  }

  reset(): void {
    this.#failures = 0
  }
}

/** A pause that can be cut short. */
export class Pause {
  #end: (() => void) | null = null

  /** Whether somebody sleeps. */
  get isOn(): boolean {
    return this.#end !== null
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#end = null
        resolve()
      }
      const timer = setTimeout(end, ms).unref()
      this.#end = end
    })
  }

  cut(): void {
    this.#end?.()
  }
}

/** Rejects if `call` takes longer. `background`: while nothing else goes on, the process may end meanwhile. */
export async function inTime<Result>(
  call: Promise<Result>,
  limitMs: number,
  { background = false }: { readonly background?: boolean } = {},
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${limitMs} ms`)), limitMs)
    if (background) timer.unref()
  })
  try {
    return await Promise.race([call, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Waits for `call`, however it ends, but not longer than `limitMs`. */
export async function atMost(call: Promise<unknown>, limitMs: number): Promise<void> {
  await inTime(call, limitMs).catch(() => {})
}
