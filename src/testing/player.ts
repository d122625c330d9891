import type { RegisteredFunction, Workflow } from '../engine/workflow.ts'
import type { Store, WorkflowVersion } from '../ports/store.ts'
import type { Activity } from './activity.ts'

/** What an engine under test works on. */
export interface Definitions {
  readonly workflows?: readonly Workflow[]
  readonly functions?: Readonly<Record<string, RegisteredFunction>>
  readonly queues?: readonly string[]
}

/** An engine under test, as the pacer sees it: what it is doing, and when it will have something to do. */
export class Player {
  readonly activity: Activity
  readonly #store: Store
  readonly #queues: readonly string[] | null
  readonly #versions: WorkflowVersion[] | null

  /** @param definitions what the engine works on; `null` if it only starts runs. */
  constructor(store: Store, activity: Activity, definitions: Definitions | null) {
    this.activity = activity
    this.#store = store
    this.#queues = definitions?.queues ?? null
    this.#versions = definitions === null ? null : versionsOf(definitions)
  }

  /** The engine works on these too, from now on. */
  add(workflows: readonly Workflow[]): void {
    this.#versions?.push(...versionsOf({ workflows }))
  }

  /** When the earliest run is due that this engine could take; `null` if none will be by itself. */
  async nextDue(): Promise<number | null> {
    if (this.#versions === null) return null
    return await this.#store.nextDue({ workflows: this.#versions, queues: this.#queues })
  }
}

function versionsOf({ workflows = [], functions = {} }: Definitions): WorkflowVersion[] {
  return [
    // What is only declared, others execute.
    ...workflows.filter(({ call }) => call !== null).map(({ name, version }) => ({ name, version })),
    ...Object.keys(functions).map((name) => ({ name, version: '' })),
  ]
}
