/**
 * Starts each service at most once per test run, when the first test asks for it. The broker lives in the process that
 * runs the tests' processes; these ask it over HTTP.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'

/** A service that tests share. Tests that stop or restart one start their own. */
export type ServiceName = 'postgres' | 'redis' | 'mongo'

/** What a service is asked for. */
export type Answer = { readonly url: string } | { readonly missing: string }

interface Service {
  readonly url: string
  stop(): Promise<void>
}

export interface Recipe {
  /** The variable that names a server to use instead. */
  readonly variable: string
  start(): Promise<Service>
}

export class Broker {
  readonly #recipes: ReadonlyMap<string, Recipe>
  readonly #answers = new Map<string, Promise<Answer>>()
  readonly #running: Service[] = []
  readonly #server: Server

  constructor(recipes: Readonly<Record<string, Recipe>>) {
    this.#recipes = new Map(Object.entries(recipes))
    this.#server = createServer((request, response) => {
      void this.ask(request.url?.slice(1) ?? '').then((answer) => {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify(answer))
      })
    })
    // Starting, or even installing, a service takes its time.
    this.#server.requestTimeout = 0
  }

  /** Where it listens. */
  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new Error('The system gave no port.')
    return `http://127.0.0.1:${address.port}`
  }

  /** The service, started if nobody has asked for it before. Says once on stderr if it cannot be had. */
  async ask(name: string): Promise<Answer> {
    const answer = this.#answers.get(name) ?? this.#provide(name)
    this.#answers.set(name, answer)
    return await answer
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await Promise.all(this.#answers.values())
    await Promise.all(this.#running.map((service) => service.stop()))
  }

  async #provide(name: string): Promise<Answer> {
    const recipe = this.#recipes.get(name)
    if (recipe === undefined) return { missing: `No service is called "${name}".` }
    const given = process.env[recipe.variable]
    if (given !== undefined && given !== '') return { url: given }
    try {
      const service = await recipe.start()
      this.#running.push(service)
      return { url: service.url }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const missing = `${name} is missing: ${reason.trim()} Or name a server in ${recipe.variable}.`
      process.stderr.write(`\n### Its tests are SKIPPED: ${missing.replaceAll(/\s+/g, ' ')}\n\n`)
      return { missing }
    }
  }
}
