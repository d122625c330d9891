import type { WorkflowVersionStatus } from '@pikku/core/workflow'
import type { RunRecord } from '../core/run.ts'
import { type Backing, newRecord } from './backing.ts'
import { VERSION, versionId } from './ids.ts'
import { type Kind, Ledger, type Logged } from './ledger.ts'
import { decode, encode } from './values.ts'

/** The definition of a workflow, as of a version of the code. */
interface Version {
  readonly graph: unknown
  readonly source: string
  readonly status: WorkflowVersionStatus
}

type VersionEvent = Pick<Version, 'status'>

const versionKind: Kind<Version, VersionEvent> = {
  workflow: VERSION,
  fold: (record: RunRecord, events: readonly Logged<VersionEvent>[]) => ({
    ...decode<Version>(record.input),
    ...events.at(-1)?.event,
  }),
}

/** The definitions that runs were started with. They are kept, since a run of any age may need its own. */
export class Versions {
  readonly #backing: Backing
  readonly #ledger: Ledger<Version, VersionEvent>

  constructor(backing: Backing) {
    this.#backing = backing
    this.#ledger = new Ledger(backing, versionKind)
  }

  /** A version that exists stays as it is. */
  async add(name: string, graphHash: string, version: Version): Promise<void> {
    const id = versionId(name, graphHash)
    const input = encode(version, `The definition of workflow "${name}"`)
    const dueAt = this.#backing.env.now()
    const run = newRecord({ id, workflow: VERSION, version: id, input, dueAt, retention: 0 })
    await this.#backing.commitOne({ type: 'create', run, claimedBy: null })
  }

  async setStatus(name: string, graphHash: string, status: WorkflowVersionStatus): Promise<void> {
    await this.#ledger.append(versionId(name, graphHash), (version) =>
      version.status === status ? null : { status },
    )
  }

  async get(name: string, graphHash: string): Promise<{ graph: unknown; source: string } | null> {
    const version = await this.#ledger.read(versionId(name, graphHash))
    return version === null ? null : { graph: version.graph, source: version.source }
  }
}
