// The progress: one line that is drawn again and again on a terminal, a new line every two seconds elsewhere.

const BAR_WIDTH = 16
const LINE_INTERVAL_MS = 2000

/**
 * @typedef {{ done: number, steps: number, kills: number, workers: number }} State
 */

export class Progress {
  #out
  #total
  #began = Date.now()
  #lastLine = 0

  /**
   * @param {NodeJS.WriteStream} out
   * @param {number} total
   */
  constructor(out, total) {
    this.#out = out
    this.#total = total
  }

  /** @param {State} state */
  show(state) {
    if (this.#out.isTTY) this.#redraw(`${bar(state.done, this.#total)} ${this.#text(state)}`)
    else if (Date.now() - this.#lastLine >= LINE_INTERVAL_MS) this.#line(state)
  }

  /** @param {State} state */
  end(state) {
    if (!this.#out.isTTY) return this.#line(state)
    this.#redraw(`${bar(state.done, this.#total)} ${this.#text(state)}`)
    this.#out.write('\n')
  }

  /** @param {State} state */
  #line(state) {
    this.#lastLine = Date.now()
    this.#out.write(`${this.#text(state)}\n`)
  }

  /** @param {State} state */
  #text({ done, steps, kills, workers }) {
    const seconds = ((Date.now() - this.#began) / 1000).toFixed(1)
    return `${done}/${this.#total} packages · ${steps} steps · ${kills} kills · ${workers} workers · ${seconds} s`
  }

  /** @param {string} line */
  #redraw(line) {
    const width = this.#out.columns || 80
    this.#out.write(`\r\x1b[K${line.slice(0, width - 1)}`)
  }
}

/**
 * @param {number} done
 * @param {number} total
 */
function bar(done, total) {
  const filled = total === 0 ? BAR_WIDTH : Math.round((BAR_WIDTH * done) / total)
  return '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
}
