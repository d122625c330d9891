// Takes webhooks in, each once however often it is sent, and projects the order that it is about to another system.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createEngine, retryUnlessPermanent } from 'perdure'
import { type RunnerWorkflow, WorkflowRunner } from 'perdure/runner'
import { sqlite } from 'perdure/sqlite'
import { FakeService } from './support/fake-service.ts'

export interface Webhook {
  readonly eventId: string
  readonly orderId: string
}

export const shop = new FakeService('shop')
export const ledger = new FakeService('ledger', (request) => {
  if (request.includes('A-9')) throw Object.assign(new Error('Not Found'), { status: 404 })
})

export const projectOrder: RunnerWorkflow<Webhook, unknown> = {
  kind: 'project-order',
  // Senders repeat what was not answered in time: the same event is the same work.
  dedupeKey: ({ eventId }) => eventId,
  retrySchedule: [1, 5, 30, 120],
  jitter: 0.2,
  // An order that the ledger refuses (4xx) will not be taken in two hours either.
  retryIf: retryUnlessPermanent,
  prepare: async ({ eventId, orderId }, checkpoints, save) => {
    // What an earlier attempt has read is not read again.
    const order = checkpoints['order'] ?? (await shop.call(`read ${eventId}`, `read order ${orderId}`))
    await save({ order })
    return await ledger.call(eventId, `book ${orderId} as ${order}`)
  },
}

/** An HTTP server that answers once the work is safe: 202, or 200 if it is running or done. */
export function intake(runner: WorkflowRunner) {
  return createServer(async (request, response) => {
    try {
      const webhook: Webhook = JSON.parse(Buffer.concat(await request.toArray()).toString())
      const id = await runner.enqueue(projectOrder.kind, webhook)
      response.writeHead(id === null ? 200 : 202).end(id)
    } catch (error) {
      // The sender tries again what is answered with 5xx.
      response.writeHead(error instanceof SyntaxError ? 400 : 503).end()
    }
  })
}

export async function main(): Promise<void> {
  const engine = createEngine({ store: sqlite(':memory:') })
  const runner = new WorkflowRunner({ engine })
  runner.register(projectOrder)
  await engine.work()
  const server = intake(runner).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))

  const send = async (eventId: string, orderId: string): Promise<string> => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ eventId, orderId }) })
    console.log(`${eventId} about ${orderId} is answered with ${response.status}`)
    return await response.text()
  }
  const id = await send('evt-1', 'A-1')
  console.log(`A-1 is booked: ${await engine.getHandle(id).result()}`)
  await send('evt-1', 'A-1')
  const refused = engine.getHandle(await send('evt-2', 'A-9'))
  await refused.result().catch((error) => console.log(`A-9 is abandoned: ${error.cause.message}`))
  server.close()
  await runner.stop()
}
