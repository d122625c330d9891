/** A seeded source of chance: the same seed rolls the same numbers. */
export class Dice {
  #state: number

  constructor(seed: string) {
    this.#state = hash(seed)
  }

  /** 0 ≤ x < 1. (mulberry32: small, fast, and good enough to choose faults.) */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** `true` with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** One of them. */
  pick<Item>(first: Item, ...others: readonly Item[]): Item {
    return others[this.int(0, others.length) - 1] ?? first
  }

  /** One of a list; `undefined` if it is empty. */
  from<Item>(items: readonly Item[]): Item | undefined {
    return items[this.int(0, items.length - 1)]
  }
}

/** FNV-1a, 32 bits: for seeds, and for short digests of what a workflow has seen. */
export function hash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  }
  return value >>> 0
}
