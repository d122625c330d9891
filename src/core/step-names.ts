/**
 * Journal keys. A run's entries are matched by these, so two different operations must never get the same one,
 * whatever names the user chose: a `#` in a name is doubled, a use after the first ends in `#2`, `#3`, …, and the
 * engine's own keys start with a single `#`. In every key the user's `#` come in even runs, ours in odd ones.
 */

const CHECKPOINT = '#checkpoint:'

/** The key of the entry that records that a run was interrupted (cancelled) while it waited. */
export const INTERRUPT_KEY = '#interrupt'

/** The key of the entry that marks the place of a run's newest save in the order of outcomes. */
export const LAST_SAVE_KEY = '#save'

/**
 * Gives the steps of one execution their journal keys, in call order.
 *
 * @example
 * const names = new StepNames()
 * names.next('charge') // 'charge'
 * names.next('charge') // 'charge#2'
 * names.next('charge#2') // 'charge##2'
 */
export class StepNames {
  readonly #uses = new Map<string, number>()

  /** The key for the next use of `name`, which has passed `checkName`. */
  next(name: string): string {
    const use = (this.#uses.get(name) ?? 0) + 1
    this.#uses.set(name, use)
    const escaped = doubled(name)
    return use === 1 ? escaped : `${escaped}#${use}`
  }
}

/** The key of the checkpoint `name`: the same for every save, since a later save replaces an earlier one. */
export function checkpointKey(name: string): string {
  return CHECKPOINT + name
}

/**
 * A journal key as people write it. For display only: the second use of `a` and the first of `a#2` look alike.
 *
 * @example displayKey('charge##2') // 'charge#2'
 * @example displayKey(checkpointKey('stage')) // 'stage'
 */
export function displayKey(key: string): string {
  if (key.startsWith(CHECKPOINT)) return key.slice(CHECKPOINT.length)
  if (key === INTERRUPT_KEY) return 'interrupt'
  return key.replaceAll('##', '#')
}

function doubled(name: string): string {
  return name.includes('#') ? name.replaceAll('#', '##') : name
}

/**
 * The idempotency key of a step of a run: the same for every attempt, and different for every other step of every other run,
 * whatever characters ids and names have.
 */
export function idempotencyKey(runId: string, stepId: string): string {
  return `${encodeURIComponent(runId)}:${encodeURIComponent(stepId)}`
}
