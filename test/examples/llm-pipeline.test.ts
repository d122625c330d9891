import { crashEverywhere, createTestEngine } from 'perdure/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { article } from '../../examples/llm-pipeline.ts'
import { type FakeModel, startFakeModel } from '../../examples/support/fake-model.ts'
import { repeatedEffects, silenceConsole } from './kit.ts'

/** The model answers in real time; on a busy machine that may take a while, which must not be taken for a timeout. */
const patience = 10_000
const topic = 'Queues'
const text = [
  'A paragraph about Queues: what.',
  'A paragraph about Queues: why.',
  'A paragraph about Queues: how.',
  'In short, 3 paragraphs.',
].join('\n')

describe('the example llm-pipeline', () => {
  let model: FakeModel
  silenceConsole()
  beforeAll(async () => {
    model = await startFakeModel()
  })
  afterAll(() => model.close())
  beforeEach(() => model.reset())

  async function testEngine() {
    const test = await createTestEngine({ workflows: [article], patience })
    onTestFinished(() => test.close())
    return test
  }

  it('writes an article by a model that fails every first call with 429 or 500', async () => {
    const test = await testEngine()
    expect(await test.run(article, { topic, model: model.url })).toMatchObject({ output: text })
    expect(model.requests).toBe(10)
    expect(model.billed).toHaveLength(5)
  })

  it('does not ask again for what the model refuses', async () => {
    const test = await testEngine()
    const { status, error } = await test.run(article, { topic: 'very '.repeat(100), model: model.url })
    expect(status).toBe('failed')
    expect(error).toMatchObject({ status: 400, message: 'The model answered 400: The prompt is too long.' })
    expect(model.requests).toBe(1)
  })

  it('pays for nothing twice wherever it crashes', async () => {
    const report = await crashEverywhere(
      article,
      { topic, model: model.url },
      {
        patience,
        setup: () => model.reset(),
        effects: { billed: () => model.billed.length, requests: () => model.requests },
      },
    )
    report.assertSound()
    expect(report.baseline.output).toBe(text)
    expect(report.effects.get('billed')).toBe(5)
    // It was asked again after some crashes; the idempotency key made that harmless.
    expect(repeatedEffects(report)).toEqual(['requests'])
  })
})
