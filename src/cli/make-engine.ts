import { createEngine, type Engine, type Store } from '../index.ts'
import type { App } from './app.ts'
import { type Context, contextLog } from './context.ts'
import { WorkLog } from './work-log.ts'

/** An engine that tells what it does. */
export interface TellingEngine {
  readonly engine: Engine
  /** Closes the engine when all that it did has been told. */
  close(): Promise<void>
}

/**
 * Makes the engine of a module.
 *
 * @param write where lines about each event go; `null`: nowhere
 */
export function makeEngine(
  context: Context,
  {
    app,
    store,
    write,
  }: { readonly app: App; readonly store: Store; readonly write: ((line: string) => void) | null },
): TellingEngine {
  const { workflows, functions, options } = app
  const settings = { log: contextLog(context), ...options, store, workflows, functions }
  if (write === null) {
    const engine = createEngine(settings)
    return { engine, close: () => engine.close() }
  }
  const workflowOf = async (runId: string): Promise<string | null> => {
    return (await engine.getRun(runId))?.workflow ?? null
  }
  const log = new WorkLog({ context, write, workflowOf })
  const engine = createEngine({ ...settings, observer: log.observer })
  return {
    engine,
    close: async () => {
      await log.flushed()
      await engine.close()
      await log.flushed()
    },
  }
}
