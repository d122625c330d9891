// An outline, paragraphs in parallel, a summary, by a model that is often busy; nothing is paid for twice.

import { createEngine, defineWorkflow, isPermanentHttpError, type StepContext } from 'perdure'
import { sqlite } from 'perdure/sqlite'
import { startFakeModel } from './support/fake-model.ts'

export interface Assignment {
  readonly topic: string
  /** The URL of the model. */
  readonly model: string
}

/** Busy (429) and broken (500) models are asked again; a prompt that was refused (400) would be refused again. */
const patient = {
  retries: 6,
  retryDelay: { initial: '100ms', max: '1 minute' },
  retryIf: (error: unknown) => !isPermanentHttpError(error),
  timeout: '2 minutes',
} as const

export const article = defineWorkflow(
  { name: 'article', key: ({ topic }: Assignment) => topic },
  async ({ input: { topic, model }, step }) => {
    const outline = await step.do('outline', (context) => ask(model, `Outline: ${topic}`, context), patient)
    const paragraphs = await step.map(
      'paragraph',
      outline.split('\n'),
      (heading, context) => ask(model, `Write: ${heading}`, context),
      { ...patient, concurrency: 2 },
    )
    // If the process dies here, what was written is in the journal: nothing is asked again.
    const text = paragraphs.join('\n')
    const summary = await step.do('summary', (context) => ask(model, `Summarise: ${text}`, context), patient)
    return `${text}\n${summary}`
  },
)

/** If the process dies while the model answers, it is asked again: with the same key, so that it charges once. */
async function ask(model: string, prompt: string, { idempotencyKey, signal }: StepContext): Promise<string> {
  const headers = { 'content-type': 'text/plain', 'idempotency-key': idempotencyKey }
  const response = await fetch(model, { method: 'POST', headers, body: prompt, signal })
  const text = await response.text()
  if (response.ok) return text
  throw Object.assign(new Error(`The model answered ${response.status}: ${text}`), {
    status: response.status,
  })
}

export async function main(): Promise<void> {
  const model = await startFakeModel()
  // With the name of a file instead, what was paid for survives the process.
  const engine = createEngine({ store: sqlite(':memory:'), workflows: [article] })
  await engine.work()

  const handle = await engine.startWorkflow(article, { topic: 'Durable workflows', model: model.url })
  console.log(await handle.result())
  console.log(`${model.requests} calls, ${model.billed.length} paid`)

  const tooLong = await engine.startWorkflow(article, { topic: 'very '.repeat(100), model: model.url })
  await tooLong.result().catch((error) => console.log(error.cause.message))
  await engine.close()
  await model.close()
}
