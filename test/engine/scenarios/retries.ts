import { PermanentError, RetryAfterError } from '../../../src/core/errors.ts'
import type { StepContext } from '../../../src/engine/workflow.ts'
import { scenario } from './scenario.ts'

const until = (attempts: number) => (context: StepContext) => {
  if (context.attempt < attempts) throw new Error(`attempt ${context.attempt}`)
  return `attempt ${context.attempt}`
}

const always = (context: StepContext): never => {
  throw new Error(`attempt ${context.attempt}`)
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : `not an error: ${error}`)

/** Attempts of steps. */
export const retries = [
  scenario(
    'retries with a fixed delay',
    async ({ step }) => await step.do('flaky', until(3), { retries: 3, retryDelay: '10s' }),
    { output: 'attempt 3', bodies: 3 },
  ),

  scenario(
    'retries at once',
    async ({ step }) => await step.do('flaky', until(3), { retries: 2, retryDelay: 0 }),
    { output: 'attempt 3', bodies: 3 },
  ),

  scenario(
    'retries with growing delays',
    async ({ step }) => await step.do('flaky', until(5), { retries: 4, retryDelay: 'exponential' }),
    { output: 'attempt 5', bodies: 5 },
  ),

  scenario(
    'a schedule of retries that runs out',
    async ({ step }) => await step.do('bad', always, { retrySchedule: ['1m', '2m'] }),
    { status: 'failed', error: { message: 'attempt 3' }, bodies: 3 },
  ),

  scenario(
    'retryIf',
    async ({ step }) => {
      const retryIf = (error: unknown): boolean => reason(error) !== 'attempt 2'
      return await step.do('bad', always, { retries: 5, retryDelay: '1s', retryIf }).catch(reason)
    },
    { output: 'attempt 2', bodies: 2 },
  ),

  scenario(
    'RetryAfterError',
    async ({ step }) => {
      const body = ({ attempt }: StepContext): number => {
        if (attempt === 1) throw new RetryAfterError('2h', 'busy')
        return attempt
      }
      return await step.do('polite', body, { retries: 1, retryDelay: '1s' })
    },
    { output: 2, bodies: 2 },
  ),

  scenario(
    'PermanentError',
    async ({ step }) => {
      const body = (): never => {
        throw new PermanentError('refused')
      }
      return await step.do('card', body, { retries: 5 }).catch((error: { code: string }) => error.code)
    },
    { output: 'PERMANENT', bodies: 1 },
  ),

  scenario(
    'an error that says it is permanent',
    async ({ step }) => {
      const body = (): never => {
        throw Object.assign(new Error('gone'), { permanent: true })
      }
      return await step.do('card', body, { retries: 5 }).catch(reason)
    },
    { output: 'gone', bodies: 1 },
  ),

  scenario(
    'a retry beside steps that go on',
    async ({ step }) => {
      const flaky = step.do('flaky', until(3), { retries: 2, retryDelay: '5m' })
      const others: number[] = []
      for (const round of [1, 2, 3]) others.push(await step.do('other', () => round))
      await step.sleep('pause', '1h')
      return [await flaky, others]
    },
    { output: ['attempt 3', [1, 2, 3]], bodies: 6, orderMayChange: 'the retry and the pause are timers' },
  ),

  scenario(
    'a timeout of a body that ignores it',
    async ({ step }) => {
      const hang = (): Promise<never> => new Promise(() => {})
      return await step.do('hang', hang, { timeout: '30s' }).catch((error: { code: string }) => error.code)
    },
    { output: 'STEP_TIMEOUT', bodies: 1 },
  ),

  scenario(
    'a timeout that a further attempt does not need',
    async ({ step }) => {
      const body = async ({ attempt, signal }: StepContext): Promise<number> => {
        if (attempt === 1) await new Promise((_, reject) => signal.addEventListener('abort', reject))
        return attempt
      }
      return await step.do('slow', body, { timeout: '30s', retries: 1, retryDelay: '1s' })
    },
    { output: 2, bodies: 2 },
  ),

  scenario(
    'at most once',
    async ({ step }) => {
      const result = step.do('launch', () => 'launched', { atMostOnce: true })
      return await result.catch((error: { code: string }) => error.code)
    },
    { output: 'launched', bodies: 1, resultMayChange: 'a launch that a crash interrupts is not repeated' },
  ),

  scenario(
    'at most once, failing',
    async ({ step }) => await step.do('launch', always, { atMostOnce: true }).catch(() => 'caught'),
    { output: 'caught', bodies: 1, resultMayChange: 'an interrupted launch has another error' },
  ),
]
