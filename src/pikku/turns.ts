/** Those in this process who want the same thing come one after the other, in the order in which they ask. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  async take<Value>(name: string, turn: () => Promise<Value>): Promise<Value> {
    const before = this.#last.get(name)
    const own = (before ?? Promise.resolve()).then(turn)
    const over = own.then(
      () => {},
      () => {},
    )
    this.#last.set(name, over)
    void over.then(() => {
      if (this.#last.get(name) === over) this.#last.delete(name)
    })
    return await own
  }
}
