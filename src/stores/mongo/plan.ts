/** What each write of a batch makes of the runs that it touches: the decisions of the memory store, on drafts. Pure. */
import { isTerminal, type RunRecord } from '../../core/run.ts'
import {
  advanced,
  cancelRequested,
  cancelWins,
  claimed,
  created,
  delivered,
  pauseRequested,
  type Request,
  resumeRequested,
  reviveRequested,
  takes,
  wakeRequested,
} from '../../core/run-machine.ts'
import { writeOrder } from '../../core/write-order.ts'
import type {
  AdvanceWrite,
  Birth,
  CancelRequest,
  ControlWrite,
  Delivery,
  Write,
  WriteResult,
} from '../../ports/store.ts'
import { dedupeOf } from './documents.ts'
import { type CancelEffect, Draft, type Effect } from './draft.ts'
import { bytesInRun, tooManyBytes, unstorable } from './limits.ts'
import { MAX_DOCUMENT_BYTES } from './sizes.ts'

/** What a write came to, provided that the runs which it depends on are written as planned. */
export interface Planned {
  readonly result: WriteResult
  /** The run that the result speaks of; `null` if there is none. */
  readonly draft: Draft | null
}

export interface PlanOptions {
  readonly now: number
  /** Names this attempt to write the batch. */
  readonly token: string
  /** Makes the `uid` of a new run. */
  readonly newUid: () => string
}

/** The runs that a batch knows of, by id and by key. Runs that nobody has looked for are taken to be missing. */
export class Plan {
  readonly #drafts = new Map<string, Draft>()
  readonly #keys = new Map<string, Draft>()
  readonly #options: PlanOptions

  constructor(drafts: Iterable<Draft>, options: PlanOptions) {
    this.#options = options
    for (const draft of drafts) this.#add(draft)
  }

  drafts(): Iterable<Draft> {
    return this.#drafts.values()
  }

  apply(write: Write | Effect): Planned {
    const reason = unstorable(write)
    if (reason !== null) return { result: { status: 'error', message: reason }, draft: null }
    switch (write.type) {
      case 'create':
        return this.#create(write)
      case 'advance':
        return this.#on(write, { status: 'fenced' }, this.#advance.bind(this))
      case 'deliver':
        return this.#on(write, { status: 'missing' }, this.#deliver.bind(this))
      case 'control':
        return this.#on(write, { status: 'missing' }, this.#control.bind(this))
    }
  }

  #add(draft: Draft): void {
    this.#drafts.set(draft.id, draft)
    const { run } = draft
    if (run !== null && run.key !== null) this.#keys.set(dedupeOf(run.workflow, run.key), draft)
  }

  #on<W extends Exclude<Write | Effect, { readonly type: 'create' }>>(
    write: W,
    missing: WriteResult,
    body: (draft: Draft, run: RunRecord, write: W) => WriteResult,
  ): Planned {
    const draft = this.#drafts.get(write.runId)
    if (draft === undefined || draft.run === null) return { result: missing, draft: draft ?? null }
    const bytes = draft.bytes + draft.added + bytesInRun(write)
    if (bytes > MAX_DOCUMENT_BYTES) {
      return { result: { status: 'error', message: tooManyBytes('The run', bytes) }, draft: null }
    }
    return { result: body(draft, draft.run, write), draft }
  }

  #create({ run, claimedBy }: Birth): Planned {
    const { now, token, newUid } = this.#options
    const holder =
      this.#drafts.get(run.id) ??
      (run.key === null ? undefined : this.#keys.get(dedupeOf(run.workflow, run.key)))
    if (holder?.run) return { result: { status: 'existing', run: holder.run }, draft: holder }
    const pending = created(run, now)
    const record = claimedBy === null ? pending : claimed(pending, claimedBy, now)
    const draft = Draft.new(record, newUid())
    draft.append(run.entries, 0, token)
    this.#add(draft)
    return { result: ok(record), draft }
  }

  #advance(draft: Draft, run: RunRecord, write: AdvanceWrite): WriteResult {
    const { worker, fence, to } = write
    if (run.status !== 'running' || run.owner !== worker || run.fence !== fence) return { status: 'fenced' }
    const { now, token } = this.#options
    draft.append(write.entries, writeOrder(write), token)
    for (const id of write.consumed) draft.take(id)
    for (const child of write.children) {
      if (child.run.id !== draft.id) draft.effects.push({ type: 'create', ...child })
    }
    for (const request of write.cancels) this.#cancelFrom(draft, request)
    const deliveries = cancelWins(current(draft), to) ? write.deliveriesIfCancelled : write.deliveries
    for (const delivery of deliveries) this.#deliverFrom(draft, delivery)
    // The transition comes last, so that it counts what this write delivered to its own run.
    if (write.progress && write.entries.length > 0 && current(draft).deaths > 0) {
      draft.run = { ...current(draft), deaths: 0 }
    }
    if (to !== null) draft.run = advanced(current(draft), to, now)
    return ok(current(draft))
  }

  #cancelFrom(draft: Draft, request: CancelRequest): void {
    if (request.runId === draft.id) this.#cancel(draft, current(draft), request)
    else {
      const { token } = this.#options
      draft.effects.push({ ...request, type: 'control', action: 'cancel', token })
    }
  }

  #deliverFrom(draft: Draft, delivery: Delivery): void {
    if (delivery.runId === draft.id) this.#deliver(draft, current(draft), delivery)
    else draft.effects.push({ type: 'deliver', ...delivery })
  }

  #deliver(draft: Draft, run: RunRecord, { item }: Delivery): WriteResult {
    // Before the check for an ended run: whoever repeats a delivery learns that the first one arrived.
    if (draft.hasItem(item.id)) return { status: 'duplicate' }
    if (!takes(run.status, item.kind)) return { status: 'refused', runStatus: run.status }
    const next = delivered(run, this.#options.now)
    draft.receive(item, next)
    return ok(next)
  }

  #control(draft: Draft, run: RunRecord, write: ControlWrite | CancelEffect): WriteResult {
    if (write.action === 'cancel') return this.#cancel(draft, run, write)
    if (write.action === 'delete') {
      if (!isTerminal(run.status)) return { status: 'refused', runStatus: run.status }
      draft.run = null
      return { status: 'ok', run: null }
    }
    return this.#settle(draft, run, requests[write.action](run, this.#options.now))
  }

  #cancel(draft: Draft, run: RunRecord, request: CancelRequest | CancelEffect): WriteResult {
    const token = 'token' in request ? request.token : null
    if (token !== null && draft.recent.includes(token)) return ok(run)
    if (token !== null) draft.tokens.push(token)
    return this.#settle(draft, run, cancelRequested(run, request.reason, request.error, this.#options.now))
  }

  #settle(draft: Draft, run: RunRecord, next: RunRecord | null): WriteResult {
    if (next === null) return { status: 'refused', runStatus: run.status }
    draft.run = next
    return ok(next)
  }
}

const requests: { readonly [action in 'pause' | 'resume' | 'revive' | 'wake']: Request } = {
  pause: pauseRequested,
  resume: resumeRequested,
  revive: reviveRequested,
  wake: wakeRequested,
}

function ok({ status, dueAt }: RunRecord): WriteResult {
  return { status: 'ok', run: { status, dueAt } }
}

/** The record of a run that the batch has not deleted. */
function current({ run }: Draft): RunRecord {
  if (run === null) throw new Error('A run that is deleted is not written to.')
  return run
}
