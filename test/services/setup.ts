import type { TestProject } from 'vitest/node'
import { Broker } from './broker.ts'
import { startPostgres } from './postgres.ts'
import { startRedis } from './redis.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Where the broker of this test run listens. */
    serviceBroker: string
  }
}

/** Opens the broker that tests get their services from. Returns how to stop it and all that it has started. */
export default async function openBroker(project: TestProject): Promise<() => Promise<void>> {
  const broker = new Broker({
    postgres: { variable: 'PERDURE_TEST_POSTGRES', start: () => startPostgres() },
    redis: { variable: 'PERDURE_TEST_REDIS', start: () => startRedis() },
    mongo: {
      variable: 'PERDURE_TEST_MONGO',
      start: async () => await (await import('./mongo.ts')).startMongo(),
    },
  })
  project.provide('serviceBroker', await broker.open())
  return () => broker.close()
}
