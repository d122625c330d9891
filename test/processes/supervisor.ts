import type { Child, World } from './kit.ts'

/** Keeps one worker of the poisonous workflows alive, as a process manager does. */
export class Supervisor {
  deaths = 0
  readonly #world: World
  readonly #settings: object
  readonly #workers: Child[] = []
  #worker: Child
  #stopping = false
  readonly #loop: Promise<void>

  constructor(world: World, settings: object) {
    this.#world = world
    this.#settings = settings
    this.#worker = this.#start()
    this.#loop = this.#watch()
  }

  /** How often a worker lost its claim on this run and lived. */
  losses(run: string): number {
    return this.#workers.flatMap((worker) => worker.all('lost')).filter((line) => line['run'] === run).length
  }

  async stop(): Promise<void> {
    // Before it has said so, a process does not know what to do with the signal.
    await this.#worker.line('ready')
    this.#stopping = true
    this.#worker.signal('SIGTERM')
    await this.#loop
  }

  #start(): Child {
    const worker = this.#world.start('poison', this.#settings)
    this.#workers.push(worker)
    return worker
  }

  async #watch(): Promise<void> {
    for (;;) {
      const { code } = await this.#worker.ended()
      if (code !== 137 || this.#stopping) return
      this.deaths += 1
      this.#worker = this.#start()
    }
  }
}
