/** Starts and stops engines in unusual orders. Ends by itself, or hangs. */
import { defineWorkflow } from 'perdure'
import { sqlite } from 'perdure/sqlite'
import { engineOf, logged, pause, settings, tell } from './child.mjs'

let engine = null
const tiny = defineWorkflow({ name: 'tiny' }, async ({ step }) =>
  step.do('only', (context) => logged(context)),
)
const closing = defineWorkflow({ name: 'closing' }, async ({ step }) => {
  return await step.do('close', (context) => logged(context, () => engine.close({ timeout: 50 })))
})
const workflows = [tiny, closing]
const lease = settings.lease

const scenarios = {
  async 'close twice'() {
    engine = engineOf({ workflows })
    await engine.work()
    await Promise.all([engine.close(), engine.close()])
    await engine.close()
  },

  async 'close before work'() {
    engine = engineOf({ workflows })
    await engine.close()
    tell('refused', { code: await codeOf(engine.work()) })
  },

  async 'close during work'() {
    const store = watched(sqlite(settings.db))
    engine = engineOf({ workflows, store, keepStoreOpen: true })
    const working = engine.work()
    await engine.close()
    store.closed = true
    tell('work', { code: await codeOf(working) })
    await pause(3 * lease)
    await store.close()
  },

  async 'close during work, store closed'() {
    engine = engineOf({ workflows })
    const working = engine.work()
    await engine.close()
    tell('work', { code: await codeOf(working) })
    await pause(3 * lease)
  },

  async 'close in a body'() {
    engine = engineOf({ workflows })
    await engine.work()
    await engine.startWorkflow('closing')
    while ((await codeOf(engine.stats())) !== 'ENGINE_CLOSED') await pause(10)
    await engine.close()
  },

  async 'fifty cycles'() {
    const shared = sqlite(settings.db)
    for (let cycle = 0; cycle < 50; cycle++) {
      // A thread for each cycle would take most of the time.
      engine = engineOf(cycle % 5 === 0 ? { workflows } : { workflows, store: shared, keepStoreOpen: true })
      await engine.work()
      const handle = await engine.startWorkflow('tiny')
      await handle.result()
      await engine.close()
    }
    await shared.close()
  },

  async 'a client that does not close'() {
    engine = engineOf({ workflows })
    await engine.startWorkflow('tiny')
  },

  async 'a client that closes'() {
    engine = engineOf({ workflows })
    await engine.startWorkflow('tiny')
    await engine.close()
  },

  async 'a deferred run'() {
    engine = engineOf({ workflows, pollInterval: 60_000 })
    await engine.work()
    const { id } = await engine.startWorkflow('tiny', null, { delay: 1_000 })
    tell('deferred', { id })
    // Nobody awaits anything from here on: only the engine keeps the process alive.
    void engine.getHandle(id).result()
  },

  async 'a parked run'() {
    engine = engineOf({ workflows, pollInterval: 60_000 })
    process.on('SIGTERM', () => engine.close())
    await engine.work()
    tell('working')
  },
}

function watched(store) {
  return new Proxy(store, {
    get: (target, name) => {
      if (target.closed && name !== 'close') tell('used after close', { method: String(name) })
      return target[name]
    },
  })
}

async function codeOf(promise) {
  try {
    await promise
    return null
  } catch (error) {
    return error.code
  }
}

const listeners = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
const before = listeners()
await scenarios[settings.scenario]()
tell('done', { listeners: listeners() - before })
