import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

/** A language model behind HTTP on this machine. Like real ones it is often busy, and like some it knows idempotency keys. */
export interface FakeModel {
  readonly url: string
  /** How many requests it has had. */
  readonly requests: number
  /** The prompts that it answered, which is what it charges for. */
  readonly billed: readonly string[]
  /** Forgets everything. */
  reset(): void
  close(): Promise<void>
}

interface Answer {
  readonly status: number
  readonly body: string
}

const MAX_PROMPT = 500

/** Starts it on a free port. */
export async function startFakeModel(): Promise<FakeModel> {
  const state = new ModelState()
  const server = createServer(async (request, response) => {
    const { status, body } = state.answer(keyOf(request), await text(request))
    response.writeHead(status, { 'content-type': 'text/plain' }).end(body)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}/`,
    get requests() {
      return state.requests
    },
    billed: state.billed,
    reset: () => state.reset(),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

class ModelState {
  requests = 0
  readonly billed: string[] = []
  readonly #answers = new Map<string, Answer>()
  readonly #seen = new Set<string>()

  answer(key: string, prompt: string): Answer {
    this.requests += 1
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    if (prompt.length > MAX_PROMPT) return { status: 400, body: 'The prompt is too long.' }
    if (!this.#seen.has(key)) {
      const isBusy = this.#seen.add(key).size % 2 === 1
      return isBusy ? { status: 429, body: 'Too many requests.' } : { status: 500, body: 'Something broke.' }
    }
    const answer = { status: 200, body: complete(prompt) }
    this.#answers.set(key, answer)
    this.billed.push(prompt)
    console.log(`  model: ${prompt.replaceAll('\n', ' ')} (call ${this.requests})`)
    return answer
  }

  reset(): void {
    this.requests = 0
    this.billed.length = 0
    this.#answers.clear()
    this.#seen.clear()
  }
}

/** The key by which a repeated request is told from a new one. */
function keyOf({ headers }: IncomingMessage): string {
  const key = headers['idempotency-key']
  return typeof key === 'string' ? key : crypto.randomUUID()
}

/** All that the model can say. */
function complete(prompt: string): string {
  const [task, ...rest] = prompt.split(': ')
  const subject = rest.join(': ')
  if (task === 'Outline') return ['what', 'why', 'how'].map((word) => `${subject}: ${word}`).join('\n')
  if (task === 'Write') return `A paragraph about ${subject}.`
  return `In short, ${subject.split('\n').length} paragraphs.`
}
