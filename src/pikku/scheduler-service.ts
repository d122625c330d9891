import { randomUUID } from 'node:crypto'
import type { CoreUserSession } from '@pikku/core'
import type { ScheduledTaskInfo, ScheduledTaskSummary, SchedulerService } from '@pikku/core/services'
import { isTerminal, type RunRecord } from '../core/run.ts'
import type { Engine } from '../engine/api.ts'
import { type CallInput, callWorkflow } from './call-workflow.ts'
import type { PerdureQueueService } from './queue-service.ts'
import { decode, encode } from './values.ts'

const PAGE = 500

/**
 * Pikku's scheduler on a Perdure store: calls of RPCs at a later time, which survive the process that asked for them. Among
 * them are the ends of workflows' sleeps. They are made by processes in which `registerQueues()` of the queue service
 * was called.
 *
 * @example
 * const schedulerService = new PerdureSchedulerService({ queueService })
 * await schedulerService.scheduleRPC('2h', 'sendReminder', { userId: 7 })
 */
export class PerdureSchedulerService implements SchedulerService {
  readonly #engine: Engine

  constructor({ queueService }: { readonly queueService: PerdureQueueService }) {
    this.#engine = queueService.engine
  }

  /** There is nothing to do: the store is opened when it is first used. */
  async init(): Promise<void> {}

  /**
   * Calls an RPC after a delay, in ms or e.g. `'30m'`; tries again up to five times if the call fails.
   * @returns the id of the task. Durable when it resolves
   * @throws InvalidDurationError, StoreError
   */
  async scheduleRPC(
    delay: number | string,
    rpcName: string,
    data?: unknown,
    session?: CoreUserSession,
  ): Promise<string> {
    const kept = decode<unknown>(encode(data, `The data of a call of "${rpcName}"`))
    const input: CallInput = { rpcName, data: kept, session }
    const id = `pikku:call:${randomUUID()}`
    await this.#engine.startWorkflow(callWorkflow, input, { id, delay })
    return id
  }

  /** Takes back a call that has not begun. `false` if there is none. */
  async unschedule(taskId: string): Promise<boolean> {
    const run = await this.#engine.getRun(taskId)
    if (run?.workflow !== callWorkflow.name || run.startedAt !== null || isTerminal(run.status)) return false
    await this.#engine.cancel(taskId, 'It was unscheduled.')
    return (await this.#engine.getRun(taskId))?.status === 'cancelled'
  }

  async getTask(taskId: string): Promise<ScheduledTaskInfo | null> {
    const run = await this.#engine.getRun(taskId)
    if (run?.workflow !== callWorkflow.name || run.status === 'cancelled') return null
    const { data, session } = decode<CallInput>(run.input)
    return { ...summaryOf(run), data, ...(session !== undefined && { session }), status: statusOf(run) }
  }

  /** The calls that are still to be made. */
  async getAllTasks(): Promise<ScheduledTaskSummary[]> {
    const found: ScheduledTaskSummary[] = []
    let cursor: string | undefined
    do {
      const filter = { workflow: callWorkflow.name, status: ['pending', 'waiting'] as const, limit: PAGE }
      const page = await this.#engine.listRuns(cursor === undefined ? filter : { ...filter, cursor })
      found.push(...page.runs.map(summaryOf))
      cursor = page.cursor ?? undefined
    } while (cursor !== undefined)
    return found
  }

  /** There is nothing to do: the queue service has the engine. */
  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async close(): Promise<void> {}
}

function summaryOf(run: RunRecord): ScheduledTaskSummary {
  const { rpcName } = decode<CallInput>(run.input)
  return { taskId: run.id, rpcName, scheduledFor: new Date(run.dueAt ?? run.startedAt ?? run.createdAt) }
}

function statusOf({ status }: RunRecord): NonNullable<ScheduledTaskInfo['status']> {
  if (status === 'running') return 'active'
  if (status === 'completed' || status === 'failed') return status
  return 'scheduled'
}
