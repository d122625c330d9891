import { crashEverywhere, createTestEngine } from 'perdure/testing'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { bank, carrier, type Order, orderSaga, warehouse } from '../../examples/order-saga.ts'
import { repeatedEffects, silenceConsole } from './kit.ts'

const toTown: Order = { id: 'A-1', address: '12 Hill Street' }
const toTheMoon: Order = { id: 'A-2', address: 'the moon' }

function reset(): void {
  for (const service of [bank, warehouse, carrier]) service.reset()
}

async function testEngine() {
  const test = await createTestEngine({ workflows: [orderSaga] })
  onTestFinished(() => test.close())
  return test
}

describe('the example order-saga', () => {
  silenceConsole()
  beforeEach(reset)

  it('charges, reserves and ships', async () => {
    const test = await testEngine()
    expect(await test.run(orderSaga, toTown)).toMatchObject({ status: 'completed', output: 'carrier-1' })
    expect(bank.done).toEqual(['charge A-1'])
    expect(warehouse.done).toEqual(['reserve A-1'])
    expect(carrier.done).toEqual(['ship A-1 to 12 Hill Street'])
  })

  it('takes everything back, last first, if the parcel cannot be shipped', async () => {
    const test = await testEngine()
    const { status, error } = await test.run(orderSaga, toTheMoon)
    expect(status).toBe('failed')
    expect(error).toMatchObject({ message: 'We do not deliver to the moon.' })
    expect(test.bodies.map(({ key }) => key)).toEqual([
      'charge',
      'reserve',
      'ship',
      'recall',
      'release',
      'refund',
    ])
    expect(bank.done).toEqual(['charge A-2', 'refund A-2'])
    expect(warehouse.done).toEqual(['reserve A-2', 'release A-2'])
    expect(carrier.done).toEqual(['recall A-2'])
  })

  it('does an order that is submitted twice once', async () => {
    const test = await testEngine()
    const first = await test.engine.startWorkflow(orderSaga, toTown)
    const again = await test.engine.startWorkflow(orderSaga, toTown)
    expect([first.created, again.created, again.id]).toEqual([true, false, first.id])
    expect(await test.until(again.result())).toBe('carrier-1')
    expect(bank.done).toEqual(['charge A-1'])
  })

  it('takes everything back if the order is cancelled while the carrier is asked again', async () => {
    const busy = vi.spyOn(carrier, 'call').mockRejectedValueOnce(new Error('The line is busy.'))
    onTestFinished(() => busy.mockRestore())
    const test = await testEngine()
    const handle = await test.engine.startWorkflow(orderSaga, toTown)
    await test.advance('100ms')
    await test.engine.cancel(handle.id, 'changed their mind')
    await test.runUntilIdle()
    expect(await handle.status()).toBe('cancelled')
    expect(bank.done).toEqual(['charge A-1', 'refund A-1'])
    expect(warehouse.done).toEqual(['reserve A-1', 'release A-1'])
    expect(carrier.done).toEqual(['recall A-1'])
  })

  it.each([
    ['is shipped', toTown, { charge: 1, refund: 0, reserve: 1, release: 0, ship: 1, recall: 0 }],
    ['is taken back', toTheMoon, { charge: 1, refund: 1, reserve: 1, release: 1, ship: 0, recall: 1 }],
  ])('does nothing twice wherever it crashes: an order that %s', async (_, order, expected) => {
    const report = await crashEverywhere(orderSaga, order, {
      setup: reset,
      effects: {
        charge: () => bank.count('charge'),
        refund: () => bank.count('refund'),
        reserve: () => warehouse.count('reserve'),
        release: () => warehouse.count('release'),
        ship: () => carrier.count('ship'),
        recall: () => carrier.count('recall'),
        'calls of the bank': () => bank.calls,
      },
    })
    report.assertSound()
    expect(Object.fromEntries(report.effects)).toMatchObject(expected)
    // It was asked again after some crashes; the idempotency key made that harmless.
    expect(repeatedEffects(report)).toEqual(['calls of the bank'])
  })
})
