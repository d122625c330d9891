import { decodeValue } from '../core/codec.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { decodeError } from '../core/error-codec.ts'
import { RunCancelledError, RunFailedError, RunNotFoundError, WaitTimeoutError } from '../core/errors.ts'
import type { RunRecord, RunStatus } from '../core/run.ts'
import { type History, historyOf } from './history.ts'
import type { Operations } from './operator.ts'
import type { Ended } from './waiters.ts'

/** A run, from outside. Cheap; any number of handles may name the same run. */
export interface RunHandle<Output = unknown> {
  readonly id: string
  /** Whether this call created the run; `false` if the run held the key or id already. */
  readonly created: boolean
  /** Whether an existing run was found whose input is another one than the given. */
  readonly inputDiffers: boolean
  /**
   * Waits for the run to end and returns its output.
   * @throws RunFailedError with the run's error as `cause`; RunCancelledError; WaitTimeoutError when `timeout` passes
   * first (the run goes on); RunNotFoundError if the run was pruned or deleted.
   */
  result(options?: { readonly timeout?: Duration }): Promise<Output>
  /** The run's status now. @throws RunNotFoundError */
  status(): Promise<RunStatus>
  /** Everything about the run but its journal. @throws RunNotFoundError */
  get(): Promise<RunRecord>
  /** What happened, in order, with each step's attempts. @throws RunNotFoundError */
  history(): Promise<History>
  /** Cancels the run. @throws RunNotFoundError, RunStateError if it has ended otherwise. */
  cancel(reason?: string): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
}

/** Makes handles. */
export function makeHandle<Output>(
  operations: Operations,
  id: string,
  found: { readonly created: boolean; readonly inputDiffers: boolean },
): RunHandle<Output> {
  const get = async (): Promise<RunRecord> => {
    const run = await operations.store.getRun(id)
    if (run === null) throw new RunNotFoundError(id)
    return run
  }
  return {
    id,
    ...found,
    result: async ({ timeout } = {}) => {
      const ms = timeout === undefined ? null : parseDuration(timeout, 'The timeout of result()')
      return outputOf<Output>(id, await waitForEnd(operations, id, ms))
    },
    status: async () => (await get()).status,
    get,
    history: () => historyOf(operations.store, id),
    cancel: (reason) => operations.cancel(id, reason),
    pause: () => operations.pause(id),
    resume: () => operations.resume(id),
  }
}

async function waitForEnd({ waiters, env }: Operations, id: string, ms: number | null): Promise<Ended> {
  if (ms === null) return await waiters.wait(id)
  return await new Promise<Ended>((resolve, reject) => {
    const abort = new AbortController()
    const cancel = env.setTimer(ms, () => {
      abort.abort()
      reject(
        new WaitTimeoutError(`Run ${id} did not end within ${ms} ms. It goes on; wait again, or cancel it.`),
      )
    })
    const settle = (done: () => void): void => {
      cancel()
      done()
    }
    waiters.wait(id, abort.signal).then(
      (ended) => settle(() => resolve(ended)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}

function outputOf<Output>(id: string, { workflow, status, output, error }: Ended): Output {
  if (status === 'completed') return decodeValue(output ?? '') as Output
  const cause = decodeError(error ?? '')
  if (status === 'failed') throw new RunFailedError(id, workflow, cause)
  throw cause instanceof RunCancelledError ? cause : new RunCancelledError(`Run ${id} was cancelled.`)
}
