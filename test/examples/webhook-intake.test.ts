import type { AddressInfo } from 'node:net'
import { deferredWorkflow, WorkflowRunner } from 'perdure/runner'
import { crashEverywhere, createTestEngine } from 'perdure/testing'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { intake, ledger, projectOrder, shop, type Webhook } from '../../examples/webhook-intake.ts'
import { repeatedEffects, silenceConsole } from './kit.ts'

const webhook: Webhook = { eventId: 'evt-1', orderId: 'A-1' }

function reset(): void {
  for (const service of [shop, ledger]) service.reset()
}

async function testRunner() {
  const test = await createTestEngine({ keepStoreOpen: true })
  const environment = test.time.environment({ seed: 'runner' })
  const runner = new WorkflowRunner({ engine: test.engine, environment, keepEngineOpen: true })
  runner.register(projectOrder)
  onTestFinished(async () => {
    await runner.stop()
    await test.close()
  })
  return { test, runner }
}

describe('the example webhook-intake', () => {
  silenceConsole()
  beforeEach(reset)

  it('books an order once, however often its webhook is sent', async () => {
    const { test, runner } = await testRunner()
    const id = await runner.enqueue(projectOrder.kind, webhook)
    expect(await test.until(test.engine.getHandle(id ?? '').result())).toBe('ledger-1')
    expect(await runner.enqueue(projectOrder.kind, webhook)).toBe(null)
    await test.runUntilIdle()
    expect([shop.done, ledger.done]).toEqual([['read order A-1'], ['book A-1 as shop-1']])
  })

  it('gives up at once on an order that the ledger does not take', async () => {
    const { test, runner } = await testRunner()
    const id = await runner.enqueue(projectOrder.kind, { eventId: 'evt-2', orderId: 'A-9' })
    await test.runUntilIdle()
    expect(await test.engine.getRun(id ?? '')).toMatchObject({ status: 'failed', attempt: 1 })
    expect(ledger.calls).toBe(1)
  })

  it('answers a sender: 202 when the work is safe, 200 when it is done, 400 and 503 when it is neither', async () => {
    const { test, runner } = await testRunner()
    const server = intake(runner).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    const post = async (body: string): Promise<number> => {
      const { port } = server.address() as AddressInfo
      return (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })).status
    }
    expect(await post(JSON.stringify(webhook))).toBe(202)
    await test.runUntilIdle()
    expect(await post(JSON.stringify(webhook))).toBe(200)
    expect(await post('no JSON')).toBe(400)
    await test.engine.close()
    expect(await post(JSON.stringify({ ...webhook, eventId: 'evt-3' }))).toBe(503)
  })

  it('comes out the same wherever its process dies, and books nothing twice', async () => {
    const report = await crashEverywhere(deferredWorkflow(projectOrder), webhook, {
      setup: reset,
      effects: {
        'orders booked': () => ledger.done.length,
        'orders read': () => shop.done.length,
        'calls of the ledger': () => ledger.calls,
      },
    })
    report.assertSound()
    expect(repeatedEffects(report)).toEqual(['calls of the ledger'])
  })
})
