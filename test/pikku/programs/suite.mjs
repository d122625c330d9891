// The service tests that @pikku/core publishes, on the store that the settings name. Run it with `node --test`.
import { after } from 'node:test'
import { InMemoryWorkflowService } from '@pikku/core/services'
import { defineServiceTests } from '@pikku/core/testing'
import { PerdureWorkflowService } from 'perdure/pikku'
import { openStore } from './stores.mjs'

const settings = JSON.parse(process.env.PERDURE_SUITE ?? '{}')
const service =
  settings.kind === 'pikku'
    ? new InMemoryWorkflowService()
    : new PerdureWorkflowService({ store: await openStore(settings) })

defineServiceTests({
  name: settings.kind,
  services: {
    workflowService: async () => service,
    workflowRunService: async () => service,
  },
})

after(() => service.close())
