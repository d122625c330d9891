// Fire-and-forget jobs.

export type {
  JobContext,
  JobHandler,
  JobOptions,
  JobStatus,
  ProcessOptions,
  QueueAdapter,
  Repeat,
} from './adapter.ts'
export * from './errors.ts'
export type { LocalQueueConfig } from './local.ts'
export type { RedisQueueConfig } from './redis/adapter.ts'
export { createQueueAdapter, type QueueAdapterClass, registerQueueAdapter } from './registry.ts'
export type { StoreQueueConfig } from './store.ts'
