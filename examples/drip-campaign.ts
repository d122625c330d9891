// A mail every three days; whoever unsubscribes gets no more, from that moment on.

import { createEngine, type Duration, defineWorkflow } from 'perdure'
import { sqlite } from 'perdure/sqlite'
import { FakeService } from './support/fake-service.ts'

export interface Subscriber {
  readonly email: string
  /** Between two mails. */
  readonly pause?: Duration
}

interface Goodbye {
  readonly reason: string
}

export const mailer = new FakeService('mailer')

const mails = ['Welcome', 'Three things to try', 'What others do with it', 'A last hint']

const patient = { retries: 10, retryDelay: 'exponential' } as const

export const dripCampaign = defineWorkflow(
  { name: 'drip campaign', key: ({ email }: Subscriber) => email },
  async ({ input: { email, pause = '3 days' }, step }) => {
    for (const [sent, mail] of mails.entries()) {
      if (sent > 0) {
        // A sleep that an event ends. It holds no worker and survives restarts; an event that comes early is kept.
        const goodbye = await step.waitForEvent<Goodbye>('unsubscribe', { timeout: pause })
        if (goodbye !== null) return { mails: sent, unsubscribed: goodbye.reason }
      }
      const text = `"${mail}" to ${email}`
      await step.do(`mail ${sent + 1}`, ({ idempotencyKey }) => mailer.call(idempotencyKey, text), patient)
    }
    return { mails: mails.length, unsubscribed: null }
  },
)

export async function main(): Promise<void> {
  // With the name of a file instead, the campaign survives the process: three days are a long time.
  const engine = createEngine({ store: sqlite(':memory:'), workflows: [dripCampaign] })
  await engine.work()

  const ada = await engine.startWorkflow(dripCampaign, { email: 'ada@example.org', pause: '1 second' })
  const bob = await engine.startWorkflow(dripCampaign, { email: 'bob@example.org', pause: '1 second' })
  await mailer.until('"Three things to try" to bob')
  await engine.sendEvent(bob.id, 'unsubscribe', { reason: 'too many mails' })

  console.log('Bob:', await bob.result())
  console.log('Ada:', await ada.result())
  await engine.close()
}
