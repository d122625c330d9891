/** Pikku's services on Perdure's stores. */

export { StepClaimError } from './errors.ts'
export type { PerdureQueueOptions } from './job-engine.ts'
export type { PerdureWorkflowOptions } from './options.ts'
export { PerdureQueueService } from './queue-service.ts'
export { PerdureSchedulerService } from './scheduler-service.ts'
export { type PerdureServices, type PerdureServicesOptions, perdureServices } from './services.ts'
export { PerdureWorkflowService } from './workflow-service.ts'
