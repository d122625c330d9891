import type { RunRecord } from '../../core/run.ts'
import type { ClaimRequest } from '../../ports/store.ts'
import { Heap } from './heap.ts'
import type { Row } from './row.ts'

/** The claimable runs of one workflow, version, queue and priority, longest due first. */
export interface Lane {
  readonly queue: string
  readonly priority: number
  readonly rows: Heap<Row>
}

/**
 * All runs that are due now or later by themselves. One heap per lane and priority means that a claim
 * looks at the first run of each lane only, however many runs are parked behind it.
 */
export class Lanes {
  /** By workflow and version, then by queue and priority. */
  readonly #groups = new Map<string, Map<string, Lane>>()

  add(row: Row): void {
    const { queue, priority } = row.run
    const group = this.#group(row.run)
    const key = laneKey(row.run)
    let lane = group.get(key)
    if (lane === undefined) {
      lane = { queue, priority, rows: new Heap() }
      group.set(key, lane)
    }
    lane.rows.add(row)
  }

  remove(row: Row): void {
    const group = this.#group(row.run)
    const key = laneKey(row.run)
    const lane = group.get(key)
    lane?.rows.remove(row)
    // Queues may be named after tenants, so an empty lane is not kept.
    if (lane?.rows.size === 0) group.delete(key)
  }

  /** The lanes that a worker with these workflows and queues may take runs from. */
  matching({ workflows, queues }: Pick<ClaimRequest, 'workflows' | 'queues'>): readonly Lane[] {
    const wanted = queues === null ? null : new Set(queues)
    const lanes: Lane[] = []
    for (const { name, version } of workflows) {
      for (const lane of this.#groups.get(groupKey(name, version))?.values() ?? []) {
        if (wanted === null || wanted.has(lane.queue)) lanes.push(lane)
      }
    }
    return lanes
  }

  #group(run: RunRecord): Map<string, Lane> {
    const key = groupKey(run.workflow, run.version)
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = new Map()
      this.#groups.set(key, group)
    }
    return group
  }
}

/** The length in front keeps `ab` + `c` apart from `a` + `bc`. */
function groupKey(workflow: string, version: string): string {
  return `${workflow.length}:${workflow}${version}`
}

function laneKey({ queue, priority }: RunRecord): string {
  return `${priority}:${queue}`
}
