// Charge, reserve, ship; if one of them fails for good, what was done before is taken back.

import { createEngine, defineWorkflow, PermanentError, type StepOptions } from 'perdure'
import { sqlite } from 'perdure/sqlite'
import { FakeService } from './support/fake-service.ts'

export interface Order {
  readonly id: string
  readonly address: string
}

export const bank = new FakeService('bank')
export const warehouse = new FakeService('warehouse')
export const carrier = new FakeService('carrier', (request) => {
  if (request.includes('the moon')) throw new PermanentError('We do not deliver to the moon.')
})

const patient = { retries: 5, retryDelay: 'exponential' } as const
/** What takes something back has to work in the end: it is tried for six weeks, then somebody has to look. */
const persistent = { retries: 1000, retryDelay: 'exponential' } as const

export const orderSaga = defineWorkflow(
  // One run per order, however often it is submitted.
  { name: 'order', key: ({ id }: Order) => id },
  async ({ input: { id, address }, step }) => {
    const ask = (service: FakeService, what: string, options: StepOptions = patient) =>
      step.do(what, ({ idempotencyKey }) => service.call(idempotencyKey, `${what} ${id}`), options)

    const takeBack: (() => Promise<unknown>)[] = []
    try {
      // Noted before the step itself, because a step that failed may have taken effect all the same.
      takeBack.unshift(() => ask(bank, 'refund', persistent))
      await ask(bank, 'charge')
      takeBack.unshift(() => ask(warehouse, 'release', persistent))
      await ask(warehouse, 'reserve')
      takeBack.unshift(() => ask(carrier, 'recall', persistent))
      const parcel = `ship ${id} to ${address}`
      return await step.do('ship', ({ idempotencyKey }) => carrier.call(idempotencyKey, parcel), patient)
    } catch (error) {
      // A cancelled run comes here as well, once, and what follows is still done.
      for (const compensate of takeBack) await compensate()
      throw error
    }
  },
)

export async function main(): Promise<void> {
  // With the name of a file instead, orders survive the process.
  const engine = createEngine({ store: sqlite(':memory:'), workflows: [orderSaga] })
  await engine.work()

  const order = { id: 'A-1', address: '12 Hill Street' }
  const first = await engine.startWorkflow(orderSaga, order)
  const again = await engine.startWorkflow(orderSaga, order)
  console.log(`A-1 was submitted twice, and is one run: ${first.id === again.id}`)
  console.log(`A-1 is on its way, parcel ${await first.result()}`)

  const second = await engine.startWorkflow(orderSaga, { id: 'A-2', address: 'the moon' })
  await second.result().catch((error) => console.log(`A-2 failed: ${error.cause.message}`))
  await engine.close()
}
