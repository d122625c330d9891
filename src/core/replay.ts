import { NonDeterminismError } from './errors.ts'
import type { Entry, EntryKind } from './run.ts'
import { displayKey } from './step-names.ts'

/** What the code asks for when it uses a step. */
export interface Asked {
  readonly key: string
  readonly kind: EntryKind
  /** The function, workflow or event that is named; `null` for an inline body. */
  readonly target: string | null
}

/** What the journal knows about it. */
export type Answer =
  /** Its outcome is recorded and will be handed out when its turn comes. */
  | { readonly type: 'recorded'; readonly entry: Entry }
  /** It ended before the run started over, and is not done again: its outcome is taken over. */
  | { readonly type: 'carried'; readonly entry: Entry }
  /** It was begun and has no outcome yet. */
  | { readonly type: 'open'; readonly entry: Entry }
  | { readonly type: 'fresh' }
  /** The journal holds something else under this key. */
  | { readonly type: 'mismatch'; readonly error: NonDeterminismError }

type Ordered = Entry & { readonly order: number }

/** The next thing that the journal says was handed to the function. */
export type Recorded =
  | { readonly type: 'outcome'; readonly entry: Entry }
  /**
   * A number in the order that the marker of the newest save holds, or that no entry holds: there an earlier save resolved.
   * Saves resolve first in, first out. They do not bind the code: a job that resumes from its checkpoints skips those
   * that it has made.
   */
  | { readonly type: 'save' }

/**
 * A run's journal, read while its function is called again from the top.
 *
 * Only entries of the current epoch bind the code: their outcomes are handed out in their recorded order, and
 * each must be asked for again as the same kind with the same target. Entries of earlier epochs, from before
 * the run started over, are memoised values that the code may use or not.
 */
export class Replay {
  readonly #epoch: number
  readonly #entries = new Map<string, Entry>()
  readonly #unasked = new Set<string>()
  readonly #outcomes: readonly Entry[]
  #position = 0
  #order = 0

  constructor(entries: readonly Entry[], epoch: number) {
    this.#epoch = epoch
    for (const entry of entries) {
      if (entry.kind === 'checkpoint') continue
      this.#entries.set(entry.key, entry)
      if (entry.epoch === epoch && binds(entry)) this.#unasked.add(entry.key)
    }
    this.#outcomes = inOrder(entries.filter((entry) => entry.epoch === epoch))
  }

  /** Whether the code is still on a way that it has gone before. */
  get replaying(): boolean {
    return this.#unasked.size > 0 || this.#position < this.#outcomes.length
  }

  /** Whether a request for `key` and the like of it has a recorded answer in this epoch. */
  ask(asked: Asked): Answer {
    const entry = this.#entries.get(asked.key)
    if (entry === undefined) return { type: 'fresh' }
    const fits = entry.kind === asked.kind && entry.target === asked.target
    if (entry.epoch !== this.#epoch) {
      // What has failed, or was being tried again, is begun anew. A body that must not run twice is not.
      const begun = entry.kind === 'step' && entry.status === 'waiting'
      const failed = entry.status === 'failed'
      if (!fits || begun || (failed && entry.target !== AT_MOST_ONCE)) return { type: 'fresh' }
      return { type: failed || entry.status === 'succeeded' ? 'carried' : 'open', entry }
    }
    if (!fits) return { type: 'mismatch', error: differs(entry, asked) }
    this.#unasked.delete(asked.key)
    // What has been asked is not asked again: its value need not stay in memory.
    this.#entries.delete(asked.key)
    return { type: entry.status === 'succeeded' || entry.status === 'failed' ? 'recorded' : 'open', entry }
  }

  /** The next recorded thing to hand out, or `null` once the function is beyond the journal. */
  peek(): Recorded | null {
    const entry = this.#outcomes[this.#position]
    if (entry === undefined) return null
    const isNext = entry.order === this.#order + 1 && entry.kind !== 'checkpoint'
    return isNext ? { type: 'outcome', entry } : { type: 'save' }
  }

  /** The number of the outcome that is handed out now; moves on past it. */
  handOut(): number {
    this.#order += 1
    if (this.#outcomes[this.#position]?.order === this.#order) this.#position += 1
    return this.#order
  }

  /** How many outcomes the function has been given. */
  get handedOut(): number {
    return this.#order
  }

  /** What is wrong if the function does not ask for what comes next; names both sides. */
  stalled(next: Entry, waitingFor: readonly string[]): NonDeterminismError {
    const asked = waitingFor.length === 0 ? 'no step' : waitingFor.map(quote).join(', ')
    return new NonDeterminismError(
      `The journal holds the outcome of ${quote(next.key)} (${next.kind}) next, but the code is waiting for ${asked}. ${ADVICE}`,
    )
  }

  /** What is wrong with the function having ended here, if anything. */
  endedEarly(): NonDeterminismError | null {
    const missing = [...this.#unasked]
    if (missing.length === 0) return null
    const names = missing.slice(0, 5).map((key) => `${quote(key)} (${this.#entries.get(key)?.kind})`)
    const more = missing.length > 5 ? ` and ${missing.length - 5} more` : ''
    return new NonDeterminismError(
      `The code ended without asking for ${names.join(', ')}${more}, which the journal holds. ${ADVICE}`,
    )
  }
}

/** The target of steps whose body must not be started twice. */
export const AT_MOST_ONCE = 'atMostOnce'

/** The target of the markers that `step.patched` writes. */
export const PATCH_TARGET = 'patched'

function inOrder(entries: readonly Entry[]): readonly Ordered[] {
  const outcomes = entries.filter((entry): entry is Ordered => entry.order !== null)
  // A save marks the place that it expects to have. If an outcome has taken that, the save did not resolve there.
  const taken = new Set(outcomes.filter(({ kind }) => kind !== 'checkpoint').map(({ order }) => order))
  return outcomes
    .filter(({ kind, order }) => kind !== 'checkpoint' || !taken.has(order))
    .sort((a, b) => a.order - b.order)
}

/** Whether the code must ask for the entry. A patch marker that is no longer asked for does no harm. */
function binds({ kind, target }: Entry): boolean {
  return kind !== 'interrupt' && !(kind === 'value' && target === PATCH_TARGET)
}

const ADVICE =
  'The workflow was changed under a running run, or its code between steps is not deterministic. Restore the ' +
  'old path (step.patched can branch), or give the new code another version, then resume the run.'

function differs(entry: Entry, asked: Asked): NonDeterminismError {
  const held = entry.target === null ? entry.kind : `${entry.kind} "${entry.target}"`
  const wanted = asked.target === null ? asked.kind : `${asked.kind} "${asked.target}"`
  return new NonDeterminismError(
    `Step ${quote(asked.key)} is a ${held} in the journal, but the code asks for a ${wanted}. ${ADVICE}`,
  )
}

function quote(key: string): string {
  return `"${displayKey(key)}"`
}
