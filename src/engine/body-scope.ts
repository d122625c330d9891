import { AsyncLocalStorage } from 'node:async_hooks'

/** The step body that is running. */
export interface BodyScope {
  readonly runId: string
  readonly key: string
}

const storage = new AsyncLocalStorage<BodyScope>()

/** Calls `body` so that everything it does can be told from what the workflow function does. */
export function insideBody<Output>(scope: BodyScope, body: () => Output): Output {
  return storage.run(scope, body)
}

/** The step body of this run from which the caller is called, or `null`. */
export function currentBody(runId: string): BodyScope | null {
  const scope = storage.getStore()
  return scope !== undefined && scope.runId === runId ? scope : null
}
