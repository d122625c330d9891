import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Engine } from '../../src/engine/api.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import type { WorkflowContext } from '../../src/engine/workflow.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'
import { openConnection, temporaryFolder } from '../sqlite/helpers.ts'

const waits = defineWorkflow({ name: 'waits' }, async ({ step }) => {
  const made = await step.do('make', () => 'made')
  return [made, await step.waitForEvent('go')]
})
const adds = defineWorkflow({ name: 'adds' }, ({ input, step }: WorkflowContext<number>) => {
  return step.do('add', () => input + 1)
})

const SOON = { timeout: 10_000 }

/** Damage done by hand to the run "bad", in a file that nobody has open (B136). */
describe('a damaged row among good ones', () => {
  test('whose input cannot be read is paused with the reason, and the others go on', async () => {
    const engine = await damaged("UPDATE perdure_runs SET input = '{not a value' WHERE id = 'bad'")
    await othersGoOn(engine)
    await expect.poll(() => engine.getHandle('bad').status(), SOON).toBe('paused')
    expect((await engine.getRun('bad'))?.error).toContain('cannot be read as a value')
  })

  test.each(['workflow', 'version'])(
    'of an unknown %s stays, visible, and the others go on',
    async (column) => {
      const engine = await damaged(`UPDATE perdure_runs SET ${column} = 'unknown' WHERE id = 'bad'`)
      await othersGoOn(engine)
      expect(await engine.getRun('bad')).toMatchObject({ [column]: 'unknown', status: 'pending' })
    },
  )

  test('of an unknown status stays, visible, and the others go on', async () => {
    const engine = await damaged("UPDATE perdure_runs SET status = 'odd' WHERE id = 'bad'")
    await othersGoOn(engine)
    expect((await engine.listRuns()).runs.map(({ id }) => id)).toContain('bad')
  })

  test('that is running and has no owner stays, visible, and the others go on', async () => {
    const engine = await damaged("UPDATE perdure_runs SET status = 'running' WHERE id = 'bad'")
    await othersGoOn(engine)
    expect(await engine.getRun('bad')).toMatchObject({ id: 'bad' })
  })

  test.each(['policy', 'tags'])(
    'whose %s cannot be read does not keep the others from going on',
    async (column) => {
      const engine = await damaged(`UPDATE perdure_runs SET ${column} = '{' WHERE id = 'bad'`)
      await othersGoOn(engine)
    },
  )

  test.each(['policy', 'tags'])(
    'whose %s cannot be read does not hide the others from a list',
    async (column) => {
      const engine = await damaged(`UPDATE perdure_runs SET ${column} = '{' WHERE id = 'bad'`)
      expect((await engine.listRuns()).runs.map(({ id }) => id)).toContain('good')
    },
  )
})

describe('a damaged journal among good ones', () => {
  const journal = "WHERE run = (SELECT number FROM perdure_runs WHERE id = 'bad')"

  test('of which a result cannot be read pauses its run with the reason, and the others go on', async () => {
    const engine = await damaged(`UPDATE perdure_journal SET value = '{' ${journal} AND key = 'make'`)
    await othersGoOn(engine)
    await expect.poll(() => engine.getHandle('bad').status(), SOON).toBe('paused')
    expect((await engine.getRun('bad'))?.error).toContain('cannot be read as a value')
  })

  test('of which the attempts cannot be read does not keep the others from going on', async () => {
    const engine = await damaged(`UPDATE perdure_journal SET attempts = '{' ${journal}`)
    await othersGoOn(engine)
  })

  test('of which an event cannot be read pauses its run with the reason, and the others go on', async () => {
    const inbox = "UPDATE perdure_inbox SET payload = '{' WHERE name = 'go'"
    const engine = await damaged(inbox, (first) => first.sendEvent('bad', 'go', 'x'))
    await othersGoOn(engine)
    await expect.poll(() => engine.getHandle('bad').status(), SOON).toBe('paused')
  })
})

async function othersGoOn(engine: Engine): Promise<void> {
  await engine.work()
  expect(await engine.getHandle('good').result({ timeout: '10s' })).toBe(2)
  const later = await engine.startWorkflow('adds', 5)
  expect(await later.result({ timeout: '10s' })).toBe(6)
}

/** An engine on a file with a good run and a bad one, whose row was damaged while nobody had the file open. */
async function damaged(
  sql: string,
  before: (engine: Engine) => Promise<void> = async () => {},
): Promise<Engine> {
  const path = join(await temporaryFolder(), 'work.db')
  const first = engineOn(path)
  await first.work({ queues: ['default'] })
  await first.startWorkflow(waits, 1, { id: 'bad' })
  await expect.poll(() => first.getHandle('bad').status(), SOON).toBe('waiting')
  await first.close()
  const second = engineOn(path)
  await second.startWorkflow('adds', 1, { id: 'good' })
  await before(second)
  // Due again, as after a crash or an event.
  await second.wake('bad')
  await second.close()
  const connection = await openConnection(path)
  connection.exec("UPDATE perdure_runs SET status = 'pending', due_at = 0 WHERE id = 'bad'")
  connection.exec(sql)
  return engineOn(path)
}

function engineOn(path: string): Engine {
  const options = { workflows: [waits, adds], log: silentLog, pollInterval: 50 } as const
  const engine = createEngine({ ...options, store: sqlite(path, { synchronous: 'normal' }) })
  onTestFinished(() => engine.close({ timeout: 0 }))
  return engine
}
