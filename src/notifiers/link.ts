import type { Outage } from './outage.ts'
import { atMost, Backoff, Pause, type Timings } from './time.ts'

/** What a session reports. */
export interface Hooks {
  /** A message arrived. */
  readonly heard: (text: string) => void
  /** The connection is gone. */
  readonly lost: (error: unknown) => void
}

/** One connection that listens. */
export interface Session {
  /** Connects and begins to listen. Rejects in the end if it cannot, and soon if it is closed meanwhile. */
  start(): Promise<void>
  /** Makes a call over the connection. Rejects if there is no answer in time. */
  probe(): Promise<void>
  /** Never rejects. */
  close(): Promise<void>
}

export interface LinkOptions {
  readonly open: (hooks: Hooks) => Session
  readonly onHeard: (text: string) => void
  /** It listens, for the first time or again: what was said before was missed. */
  readonly onListening: () => void
  /** Sends, by another way, something that must be heard then; `null`: whoever listens hears. */
  readonly trial: (() => Promise<void>) | null
  readonly outage: Outage
  readonly deafness: Outage
  readonly timings: Timings
}

type Verdict = 'heard' | 'unsent' | 'deaf'

/**
 * Listens, come what may: a connection that is lost, or that does not answer any more, is replaced by a new one. Where
 * nothing arrives although the connection seems to work, it is tried again only now and then.
 */
export class Link {
  readonly #options: LinkOptions
  readonly #backoff: Backoff
  readonly #pause = new Pause()
  readonly #running: Promise<void>
  #session: Session | null = null
  #stopped = false
  #lost: { readonly error: unknown } | null = null
  #lastSign = 0
  /** Messages since the last trial began. */
  #messages = 0
  #onTrial = false

  constructor(options: LinkOptions) {
    this.#options = options
    this.#backoff = new Backoff(options.timings)
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#pause.cut()
    await this.#session?.close()
    await atMost(this.#running, this.#options.timings.farewell)
  }

  async #run(): Promise<void> {
    // Who unsubscribes at once, or ends, has connected to nothing.
    await this.#pause.sleep(0)
    while (!this.#stopped) {
      const begun = performance.now()
      const pause = await this.#listen()
      // A connection that is lost again and again right after it was made is a failure, too.
      if (performance.now() - begun > this.#options.timings.longestPause) this.#backoff.reset()
      if (!this.#stopped) await this.#pause.sleep(pause ?? this.#backoff.next())
    }
  }

  /** Listens as long as it goes. Returns for how long to pause then, if not as after a failure. */
  async #listen(): Promise<number | null> {
    const { open, outage, deafness, timings } = this.#options
    const session = open({
      heard: (text) => this.#heard(session, text),
      lost: (error) => this.#losing(session, error),
    })
    this.#session = session
    this.#lost = null
    try {
      const verdict = await this.#hold(session)
      if (verdict !== 'deaf') return null
      deafness.failed()
      return timings.deafPause
    } catch (error) {
      if (!this.#stopped) outage.failed(this.#reason ?? error)
      return null
    } finally {
      this.#session = null
      await session.close()
    }
  }

  async #hold(session: Session): Promise<Verdict> {
    await session.start()
    this.#lastSign = performance.now()
    if (this.#isOn) this.#options.outage.over()
    if (this.#isOn) this.#options.onListening()
    let verdict: Verdict = this.#options.trial === null ? 'heard' : 'unsent'
    while (this.#isOn) {
      if (verdict === 'unsent') verdict = await this.#try(this.#options.trial)
      if (verdict === 'deaf') return verdict
      await this.#silence()
      if (this.#isOn) await session.probe()
      this.#lastSign = performance.now()
    }
    if (this.#lost !== null) throw this.#reason
    return verdict
  }

  get #isOn(): boolean {
    return !this.#stopped && this.#lost === null
  }

  /** Why the connection is gone, if it is. */
  get #reason(): unknown {
    return this.#lost?.error
  }

  /** Resolves when nothing was heard for some time, or when it is over. */
  async #silence(): Promise<void> {
    for (;;) {
      const left = this.#lastSign + this.#options.timings.probe - performance.now()
      if (left <= 0 || !this.#isOn) return
      await this.#pause.sleep(left)
    }
  }

  async #try(trial: (() => Promise<void>) | null): Promise<Verdict> {
    // What came together with the answer to a call proves nothing: a pooler may have passed on what it held back.
    this.#messages = 0
    try {
      await trial?.()
    } catch {
      // The way there is blocked, which says nothing about this one.
      return 'unsent'
    }
    this.#onTrial = true
    if (this.#messages === 0 && this.#isOn) await this.#pause.sleep(this.#options.timings.answer)
    this.#onTrial = false
    if (this.#messages === 0) return this.#isOn ? 'deaf' : 'unsent'
    this.#options.deafness.over()
    return 'heard'
  }

  #heard(session: Session, text: string): void {
    if (session !== this.#session) return
    this.#messages += 1
    this.#lastSign = performance.now()
    if (this.#onTrial) this.#pause.cut()
    this.#options.onHeard(text)
  }

  #losing(session: Session, error: unknown): void {
    if (session !== this.#session || this.#lost !== null) return
    this.#lost = { error }
    this.#pause.cut()
  }
}
