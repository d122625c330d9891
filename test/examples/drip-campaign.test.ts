import { crashEverywhere, createTestEngine } from 'perdure/testing'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { dripCampaign, mailer } from '../../examples/drip-campaign.ts'
import { repeatedEffects, silenceConsole } from './kit.ts'

const DAY = 86_400_000
const ada = { email: 'ada@example.org' }

async function testEngine() {
  const test = await createTestEngine({ workflows: [dripCampaign] })
  onTestFinished(() => test.close())
  return test
}

describe('the example drip-campaign', () => {
  silenceConsole()
  beforeEach(() => mailer.reset())

  it('sends four mails, three days apart', async () => {
    const test = await testEngine()
    const begun = test.time.now
    const { output } = await test.run(dripCampaign, ada)
    expect(output).toEqual({ mails: 4, unsubscribed: null })
    expect(mailer.done).toHaveLength(4)
    expect(test.time.now - begun).toBe(9 * DAY)
  })

  it('stops at once when the subscriber leaves', async () => {
    const test = await testEngine()
    const handle = await test.engine.startWorkflow(dripCampaign, ada)
    await test.advance('4 days')
    await test.engine.sendEvent(handle.id, 'unsubscribe', { reason: 'moved' })
    expect(await test.until(handle.result())).toEqual({ mails: 2, unsubscribed: 'moved' })
    await test.advance('30 days')
    expect(mailer.done).toHaveLength(2)
  })

  it('keeps in mind that somebody left before the first mail was out', async () => {
    const test = await testEngine()
    const handle = await test.engine.startWorkflow(dripCampaign, ada)
    await test.engine.sendEvent(handle.id, 'unsubscribe', { reason: 'a mistake' })
    expect(await test.until(handle.result())).toEqual({ mails: 1, unsubscribed: 'a mistake' })
  })

  it('sends no mail twice wherever it crashes', async () => {
    const report = await crashEverywhere(dripCampaign, ada, {
      setup: () => mailer.reset(),
      effects: { mails: () => mailer.done.length, calls: () => mailer.calls },
    })
    report.assertSound()
    expect(report.effects.get('mails')).toBe(4)
    expect(repeatedEffects(report)).toEqual(['calls'])
  })

  it('sends none after the goodbye wherever it crashes', async () => {
    const report = await crashEverywhere(dripCampaign, ada, {
      setup: () => mailer.reset(),
      effects: { mails: () => mailer.done.length },
      drive: async ({ engine, advance }, { id }) => {
        await advance('4 days')
        await engine.sendEvent(id, 'unsubscribe', { reason: 'moved' })
      },
    })
    report.assertSound()
    expect(report.baseline.output).toEqual({ mails: 2, unsubscribed: 'moved' })
    expect(report.effects.get('mails')).toBe(2)
    expect(repeatedEffects(report)).toEqual([])
  })
})
