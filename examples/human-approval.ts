// An expense waits for a person; if the manager does not answer in time, the director is asked.

import { createEngine, type Duration, defineWorkflow } from 'perdure'
import { sqlite } from 'perdure/sqlite'
import { FakeService } from './support/fake-service.ts'

export interface Expense {
  readonly id: string
  /** How long each person has. */
  readonly patience?: Duration
}

export interface Decision {
  readonly approved: boolean
  readonly by: string
}

export const mailer = new FakeService('mailer')
export const bank = new FakeService('bank')

const patient = { retries: 10, retryDelay: 'exponential' } as const

export const expenseApproval = defineWorkflow(
  { name: 'expense approval', key: ({ id }: Expense) => id },
  async ({ input: { id, patience = '2 days' }, step }): Promise<Decision> => {
    for (const person of ['manager', 'director']) {
      const question = `${person}, may we pay the ${id}?`
      await step.do(
        `ask the ${person}`,
        ({ idempotencyKey }) => mailer.call(idempotencyKey, question),
        patient,
      )
      const decision = await step.waitForEvent<Decision>('decision', { timeout: patience })
      if (decision === null) continue
      if (decision.approved) {
        await step.do('pay', ({ idempotencyKey }) => bank.call(idempotencyKey, `pay the ${id}`), patient)
      }
      return decision
    }
    return { approved: false, by: 'nobody' }
  },
)

export async function main(): Promise<void> {
  // With the name of a file instead, questions stay open while the process is restarted.
  const engine = createEngine({ store: sqlite(':memory:'), workflows: [expenseApproval] })
  await engine.work()
  const submit = (id: string) => engine.startWorkflow(expenseApproval, { id, patience: '1 second' })

  const taxi = await submit('taxi')
  await mailer.until('taxi')
  await engine.sendEvent(taxi.id, 'decision', { approved: true, by: 'the manager' })
  console.log('taxi:', await taxi.result())

  const dinner = await submit('dinner')
  await mailer.until('director, may we pay the dinner?')
  await engine.sendEvent(dinner.id, 'decision', { approved: true, by: 'the director' })
  console.log('dinner:', await dinner.result())

  const yacht = await submit('yacht')
  console.log('yacht:', await yacht.result())
  await engine.close()
}
