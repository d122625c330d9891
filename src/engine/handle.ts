import { decodeValue } from '../core/codec.ts'
import { parseDuration } from '../core/duration.ts'
import { decodeError } from '../core/error-codec.ts'
import { RunCancelledError, RunFailedError, RunNotFoundError, WaitTimeoutError } from '../core/errors.ts'
import type { RunRecord } from '../core/run.ts'
import type { RunHandle } from './api.ts'
import { historyOf } from './history.ts'
import type { Operator } from './operator.ts'
import type { Ended } from './waiters.ts'

/** Makes handles. */
export function makeHandle<Output>(
  operator: Operator,
  id: string,
  found: { readonly created: boolean; readonly inputDiffers: boolean },
): RunHandle<Output> {
  const get = async (): Promise<RunRecord> => {
    await operator.ready()
    const run = await operator.store.getRun(id)
    if (run === null) throw new RunNotFoundError(id)
    return run
  }
  return {
    id,
    ...found,
    result: async ({ timeout } = {}) => {
      const ms = timeout === undefined ? null : parseDuration(timeout, 'The timeout of result()')
      await operator.ready()
      return outputOf<Output>(id, await waitForEnd(operator, id, ms))
    },
    status: async () => (await get()).status,
    get,
    history: async () => {
      await operator.ready()
      return await historyOf(operator.store, id)
    },
    cancel: (reason) => operator.cancel(id, reason),
    pause: () => operator.pause(id),
    resume: () => operator.resume(id),
    revive: () => operator.revive(id),
    wake: () => operator.wake(id),
  }
}

async function waitForEnd({ waiters, env }: Operator, id: string, ms: number | null): Promise<Ended> {
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
