/** An `AbortController` that is made only when somebody looks at its signal: most bodies never do. */
export class LazyAbort {
  #controller: AbortController | null = null
  #aborted: { readonly reason: unknown } | null = null

  get aborted(): boolean {
    return this.#aborted !== null
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#aborted !== null) this.#controller.abort(this.#aborted.reason)
    }
    return this.#controller.signal
  }

  /** Aborts with this reason; the first counts. */
  abort(reason: unknown): void {
    if (this.#aborted !== null) return
    this.#aborted = { reason }
    this.#controller?.abort(reason)
  }
}
