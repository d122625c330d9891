import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

/** The command behind `npm run example`. Rejects unless it ends with 0. */
async function example(...args: readonly string[]): Promise<string> {
  const command = [join(root, 'examples', 'run.mjs'), ...args]
  const env = { ...process.env, PERDURE_SKIP_BUILD: '1' }
  const { stdout } = await run(process.execPath, command, { cwd: root, env, timeout: 50_000 })
  return stdout
}

/** What each example prints, in this order, perhaps with more in between. */
const promised: Readonly<Record<string, readonly string[]>> = {
  'webhook-intake': [
    'evt-1 about A-1 is answered with 202',
    'A-1 is booked: ledger-1',
    'evt-1 about A-1 is answered with 200',
    'A-9 is abandoned: Not Found',
  ],
  'order-saga': [
    'bank: charge A-1',
    'carrier: ship A-1 to 12 Hill Street',
    'A-1 is on its way, parcel carrier-1',
    'bank: charge A-2',
    'warehouse: reserve A-2',
    'carrier: recall A-2',
    'warehouse: release A-2',
    'bank: refund A-2',
    'A-2 failed: We do not deliver to the moon.',
  ],
  'drip-campaign': [
    'mailer: "Three things to try" to bob@example.org',
    "Bob: { mails: 2, unsubscribed: 'too many mails' }",
    'mailer: "A last hint" to ada@example.org',
    'Ada: { mails: 4, unsubscribed: null }',
  ],
  'human-approval': [
    "taxi: { approved: true, by: 'the manager' }",
    'mailer: manager, may we pay the dinner?',
    'mailer: director, may we pay the dinner?',
    'bank: pay the dinner',
    "dinner: { approved: true, by: 'the director' }",
    "yacht: { approved: false, by: 'nobody' }",
  ],
  'llm-pipeline': [
    'model: Outline: Durable workflows',
    'A paragraph about Durable workflows: what.',
    'In short, 3 paragraphs.',
    '10 calls, 5 paid',
    'The model answered 400: The prompt is too long.',
  ],
}

// They mostly wait, so they may as well wait together.
describe.concurrent('the command for examples', () => {
  it('lists them, each with what it shows', async () => {
    const list = await example()
    for (const name of Object.keys(promised))
      expect(list).toMatch(new RegExp(`^ {2}${name} {2,}[A-Z].*\\.$`, 'm'))
  })

  it.each(Object.entries(promised))('runs %s', async (name, lines) => {
    const output = await example(name)
    expect(output.split('\n')[0]).toBe(`── ${name}`)
    let at = 0
    for (const line of lines) {
      const found = output.indexOf(line, at)
      expect(found, `"${line}" after the lines before it in:\n${output}`).toBeGreaterThanOrEqual(at)
      at = found + line.length
    }
  })

  it('runs all of them', async () => {
    const output = await example('all')
    for (const name of Object.keys(promised)) expect(output).toContain(`── ${name}\n`)
  })

  it('refuses a name that it does not know, and says which there are', async () => {
    const failure = await example('nope').catch((error: unknown) => error)
    expect(failure).toMatchObject({
      code: 1,
      stderr: 'There is no example "nope".\n',
      stdout: expect.stringContaining('order-saga'),
    })
  })
})
