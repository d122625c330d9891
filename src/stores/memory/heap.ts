/** What a heap can hold: something with a time, a tie-breaker, and room to remember its place. */
export interface HeapItem {
  /** Smallest first. */
  at: number
  /** Decides between equal times, so that the order never depends on the shape of the heap. */
  readonly seq: number
  /** Where the heap keeps the item; -1 while it is in none. Written by the heap only. */
  place: number
}

/**
 * A binary heap by time from which any item can be removed, not only the first. Items remember their place:
 * the alternative, to leave dead items in and skip them later, grows without bound for a run that is
 * parked on a far timer and woken early again and again.
 */
export class Heap<T extends HeapItem> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  /** The item with the smallest time. */
  first(): T | undefined {
    return this.#items[0]
  }

  add(item: T): void {
    this.#items.push(item)
    this.#rise(item, this.#items.length - 1)
  }

  remove(item: T): void {
    const place = item.place
    if (this.#items[place] !== item) return
    item.place = -1
    const last = this.#items.pop()
    if (last === undefined || last === item) return
    this.#rise(last, place)
    this.#sink(last, last.place)
  }

  #rise(item: T, from: number): void {
    let place = from
    while (place > 0) {
      const above = (place - 1) >> 1
      const parent = this.#items[above]
      if (parent === undefined || !isBefore(item, parent)) break
      this.#set(parent, place)
      place = above
    }
    this.#set(item, place)
  }

  #sink(item: T, from: number): void {
    let place = from
    for (;;) {
      const below = this.#smallerChild(place)
      const child = this.#items[below]
      if (child === undefined || !isBefore(child, item)) break
      this.#set(child, place)
      place = below
    }
    this.#set(item, place)
  }

  #smallerChild(place: number): number {
    const left = 2 * place + 1
    const a = this.#items[left]
    const b = this.#items[left + 1]
    return a !== undefined && b !== undefined && isBefore(b, a) ? left + 1 : left
  }

  #set(item: T, place: number): void {
    this.#items[place] = item
    item.place = place
  }
}

function isBefore(a: HeapItem, b: HeapItem): boolean {
  return a.at < b.at || (a.at === b.at && a.seq < b.seq)
}
