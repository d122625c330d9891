import type { Engine } from '../engine/api.ts'
import { createEngine } from '../engine/engine.ts'
import type { Environment } from '../ports/environment.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { Store, Write } from '../ports/store.ts'
import { Activity } from './activity.ts'
import type { CrashOptions } from './crash-options.ts'
import { ENDLESS_LEASE_MS } from './test-engine.ts'
import { silentLog, type VirtualTime } from './virtual-time.ts'
import { type StoreMethod, wrapStore } from './wrap-store.ts'

/** Where a process is cut off. */
export interface CutPoint {
  /** The number of the call among those that count, from 0. */
  readonly call: number
  /** `after`: the call was applied, but its answer never came. */
  readonly side: 'before' | 'after'
}

/** A call of the store at which a process can be cut off. */
export interface StoreCall {
  readonly method: StoreMethod
  readonly what: string
}

/** What all processes of one run share. */
export interface CrashSite {
  readonly store: Store
  readonly time: VirtualTime
  readonly notifier: () => Notifier
  readonly options: CrashOptions
}

/**
 * The calls that count, and whether a cut after them can differ from one before: not after a read. The other reads
 * are left out, since cutting there is cutting after the call before.
 */
const counted: ReadonlyMap<StoreMethod, 'writes' | 'reads'> = new Map([
  ['commit', 'writes'],
  ['claim', 'writes'],
  ['heartbeat', 'writes'],
  ['reap', 'writes'],
  ['journal', 'reads'],
])

/** Whether a cut after this call can differ from one before. */
export function hasTwoSides({ method }: StoreCall): boolean {
  return counted.get(method) === 'writes'
}

/** A process with one engine, which can be cut off from everything at a call of its store. */
export class CrashProcess {
  readonly engine: Engine
  /** The calls that it made. */
  readonly calls: StoreCall[] = []
  readonly activity = new Activity()
  /** The identities under which it held runs. */
  readonly workers: string[] = []
  readonly #onCut: () => Promise<void>
  readonly #cut: CutPoint | null
  #dead = false

  constructor(site: CrashSite, name: string, cut: CutPoint | null, onCut: () => Promise<void>) {
    const { log = silentLog, patience: _, maxMoves: __, ...rest } = engineOptions(site.options)
    this.#cut = cut
    this.#onCut = onCut
    this.engine = createEngine({
      // Time leaps far while orphans go on, and the report needs the run that has ended.
      retention: ENDLESS_LEASE_MS,
      ...rest,
      lease: ENDLESS_LEASE_MS,
      notifier: this.#mortalNotifier(site.notifier()),
      store: this.activity.watch(this.#cuttable(site.store)),
      environment: this.#mortalEnvironment(site.time.environment({ seed: 'crash', log }), name),
      observer: this.activity.observe,
    })
  }

  /** Whether it was cut off. */
  get dead(): boolean {
    return this.#dead
  }

  /** Ends it without a trace, at the end of the test. */
  kill(): void {
    this.#dead = true
  }

  #cuttable(store: Store): Store {
    return wrapStore(store, async (method, call, writes) => {
      if (this.#dead) return await never()
      if (!counted.has(method)) return await call()
      const number = this.calls.push({ method, what: describeCall(method, writes) }) - 1
      if (number !== this.#cut?.call) return await call()
      this.#dead = true
      if (this.#cut.side === 'after') await call().catch(() => {})
      await this.#onCut()
      return await never()
    })
  }

  /** Once the process is dead, nothing calls back any more. Ids and chance are those that another process would see. */
  #mortalEnvironment(env: Environment, name: string): Environment {
    const ifAlive = (callback: () => void) => (): void => {
      if (!this.#dead) callback()
    }
    return {
      ...env,
      setTimer: (delayMs, callback, options) => env.setTimer(delayMs, ifAlive(callback), options),
      settled: (callback) => env.settled(ifAlive(callback)),
      uuid: (scope) => {
        if (scope !== 'worker') return env.uuid(scope)
        const id = `${name} ${env.uuid(scope)}`
        this.workers.push(id)
        return id
      },
    }
  }

  #mortalNotifier(notifier: Notifier): Notifier {
    return {
      ...notifier,
      publish: (hints) => {
        if (!this.#dead) notifier.publish(hints)
      },
      subscribe: (listener) =>
        notifier.subscribe((hints) => {
          if (!this.#dead) listener(hints)
        }),
    }
  }
}

/** Those of the options that are the engine's. */
function engineOptions(options: CrashOptions) {
  const { start: _, drive: __, setup: ___, effects: ____, equals: _____, store: ______, ...rest } = options
  return rest
}

/** Never answers. */
function never(): Promise<never> {
  return new Promise(() => {})
}

function describeCall(method: StoreMethod, writes: readonly Write[] | undefined): string {
  if (writes === undefined) return method
  return `commit of ${writes.map(describeWrite).join(' + ')}`
}

function describeWrite(write: Write): string {
  if (write.type === 'create') return `create ${write.run.workflow}`
  if (write.type === 'deliver') return `deliver ${write.item.name}`
  if (write.type === 'control') return write.action
  const parts = [
    ...write.entries.map(({ key, status }) => `${key} ${status}`),
    ...write.children.map(({ run }) => `child ${run.workflow}`),
    ...(write.to === null ? [] : [`→ ${write.to.status}`]),
  ]
  return parts.length > 4 ? [...parts.slice(0, 3), '…', parts.at(-1)].join(', ') : parts.join(', ')
}
