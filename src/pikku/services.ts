import type { PerdureQueueOptions } from './job-engine.ts'
import type { PerdureWorkflowOptions } from './options.ts'
import { PerdureQueueService } from './queue-service.ts'
import { PerdureSchedulerService } from './scheduler-service.ts'
import { PerdureWorkflowService } from './workflow-service.ts'

/** The options of {@link perdureServices}: those of its parts. `retention` is that of runs; see `jobRetention`. */
export interface PerdureServicesOptions
  extends PerdureWorkflowOptions,
    Omit<PerdureQueueOptions, 'retention'> {
  /** How long jobs that have ended, and their ids, are kept. Default: 24 hours. */
  readonly jobRetention?: PerdureQueueOptions['retention']
}

/** All that Pikku's workflows need, on one store. */
export interface PerdureServices {
  readonly workflowService: PerdureWorkflowService
  readonly queueService: PerdureQueueService
  readonly schedulerService: PerdureSchedulerService
  /** Begins to work in this process. Call it when Pikku's singleton services are set. */
  start(): Promise<void>
  /** Lets what runs here end, hands back what does not, and closes the store. */
  close(): Promise<void>
}

/**
 * The workflow, queue and scheduler services of a Pikku application, on one Perdure store and with nothing beside it.
 *
 * @throws InvalidArgumentError, InvalidDurationError for options that cannot be used
 * @example
 * const { workflowService, queueService, schedulerService, start, close } = perdureServices({ store: sqlite('app.db') })
 */
export function perdureServices(options: PerdureServicesOptions): PerdureServices {
  const { jobRetention, concurrency, pollInterval, retention, ...common } = options
  const { store, lease, log } = common
  const queueService = new PerdureQueueService({
    store,
    keepStoreOpen: true,
    ...(lease !== undefined && { lease }),
    ...(log !== undefined && { log }),
    ...(concurrency !== undefined && { concurrency }),
    ...(pollInterval !== undefined && { pollInterval }),
    ...(jobRetention !== undefined && { retention: jobRetention }),
  })
  const workflowService = new PerdureWorkflowService({
    ...common,
    ...(retention !== undefined && { retention }),
  })
  const schedulerService = new PerdureSchedulerService({ queueService })
  return {
    workflowService,
    queueService,
    schedulerService,
    start: async () => {
      await queueService.registerQueues()
    },
    close: async () => {
      await queueService.close()
      await workflowService.close()
    },
  }
}
