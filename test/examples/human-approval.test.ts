import { type CrashOptions, crashEverywhere, createTestEngine } from 'perdure/testing'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { bank, type Decision, expenseApproval, mailer } from '../../examples/human-approval.ts'
import { repeatedEffects, silenceConsole } from './kit.ts'

const DAY = 86_400_000
const toManager = 'manager, may we pay the taxi?'
const toDirector = 'director, may we pay the taxi?'

function reset(): void {
  mailer.reset()
  bank.reset()
}

async function submit() {
  const test = await createTestEngine({ workflows: [expenseApproval] })
  onTestFinished(() => test.close())
  const begun = test.time.now
  const handle = await test.engine.startWorkflow(expenseApproval, { id: 'taxi' })
  return {
    advance: (duration: string) => test.advance(duration),
    decide: (decision: Decision) => test.engine.sendEvent(handle.id, 'decision', decision),
    result: () => test.until(handle.result()),
    days: () => (test.time.now - begun) / DAY,
  }
}

describe('the example human-approval', () => {
  silenceConsole()
  beforeEach(reset)

  it('pays what the manager approves', async () => {
    const { advance, decide, result } = await submit()
    await advance('1 day')
    await decide({ approved: true, by: 'Grace' })
    expect(await result()).toEqual({ approved: true, by: 'Grace' })
    expect(mailer.done).toEqual([toManager])
    expect(bank.done).toEqual(['pay the taxi'])
  })

  it('does not pay what the manager refuses, and asks nobody else', async () => {
    const { advance, decide, result } = await submit()
    await advance('1 day')
    await decide({ approved: false, by: 'Grace' })
    expect(await result()).toEqual({ approved: false, by: 'Grace' })
    expect(mailer.done).toEqual([toManager])
    expect(bank.done).toEqual([])
  })

  it('asks the director after two days', async () => {
    const { advance, decide, result } = await submit()
    await advance('2 days')
    expect(mailer.done).toEqual([toManager, toDirector])
    await decide({ approved: true, by: 'Edsger' })
    expect(await result()).toEqual({ approved: true, by: 'Edsger' })
    expect(bank.done).toEqual(['pay the taxi'])
  })

  it('refuses after four days without an answer', async () => {
    const { result, days } = await submit()
    expect(await result()).toEqual({ approved: false, by: 'nobody' })
    expect(days()).toBe(4)
    expect(mailer.done).toEqual([toManager, toDirector])
    expect(bank.done).toEqual([])
  })

  const answerAfter =
    (time: string): CrashOptions['drive'] =>
    async ({ engine, advance }, { id }) => {
      await advance(time)
      await engine.sendEvent(id, 'decision', { approved: true, by: 'Grace' })
    }

  it.each<[string, { mails: number; payments: number; drive?: CrashOptions['drive'] }]>([
    ['the manager approves', { mails: 1, payments: 1, drive: answerAfter('1 day') }],
    ['the director approves', { mails: 2, payments: 1, drive: answerAfter('3 days') }],
    ['nobody answers', { mails: 2, payments: 0 }],
  ])(
    'asks and pays only once wherever it crashes: %s',
    async (_, { mails, payments, drive = async () => {} }) => {
      const report = await crashEverywhere(
        expenseApproval,
        { id: 'taxi' },
        {
          setup: reset,
          drive,
          effects: {
            mails: () => mailer.done.length,
            payments: () => bank.done.length,
            calls: () => mailer.calls,
          },
        },
      )
      report.assertSound()
      expect(report.effects.get('mails')).toBe(mails)
      expect(report.effects.get('payments')).toBe(payments)
      expect(repeatedEffects(report)).toEqual(['calls'])
    },
  )
})
