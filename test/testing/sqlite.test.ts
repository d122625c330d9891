import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { defineWorkflow } from '../../src/engine/define.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { crashEverywhere } from '../../src/testing/crash-kit.ts'
import { createTestEngine } from '../../src/testing/test-engine.ts'

const order = defineWorkflow({ name: 'order' }, async ({ step }) => {
  const charge = await step.do('charge', () => 'charged')
  await step.sleep('cool off', '30 days')
  return [charge, await step.do('label', () => 'label')]
})

// The store's thread is loaded from `dist`.
const isBuilt = existsSync(fileURLToPath(new URL('../../dist/stores/sqlite/thread.js', import.meta.url)))

describe.skipIf(!isBuilt)('the kit on SQLite, whose thread answers in real time', () => {
  it('runs a workflow of a month', async () => {
    const test = await createTestEngine({ workflows: [order], store: sqlite(':memory:') })
    expect((await test.run(order, null)).output).toEqual(['charged', 'label'])
    await test.close()
  })

  it('cuts a run everywhere', async () => {
    const report = await crashEverywhere(order, null, { store: () => sqlite(':memory:') })
    report.assertSound()
  })
})
