import type { Environment } from '../index.ts'
import type { RunnerWorkflow } from './api.ts'

/** The work that a runner has under way in this process. */
export class Running {
  #count = 0
  #whenOver: () => void = () => {}

  /** The same kind, whose work is counted. */
  counting(workflow: RunnerWorkflow): RunnerWorkflow {
    const prepare: RunnerWorkflow['prepare'] = async (...args) => {
      this.#count += 1
      try {
        return await workflow.prepare(...args)
      } finally {
        this.#count -= 1
        if (this.#count === 0) this.#whenOver()
      }
    }
    return { ...workflow, prepare }
  }

  /** Resolves when nothing is under way, or the time (ms) is over. */
  async over(env: Environment, timeout: number): Promise<void> {
    if (this.#count === 0) return
    await new Promise<void>((resolve) => {
      const cancel = env.setTimer(timeout, resolve)
      this.#whenOver = () => {
        cancel()
        resolve()
      }
    })
  }
}
