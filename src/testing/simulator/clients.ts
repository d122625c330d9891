import { isPerdureError } from '../../core/errors.ts'
import type { Answered } from '../../core/invariants-trace.ts'
import { isTerminal, type RunRecord } from '../../core/run.ts'
import type { RunHandle } from '../../engine/api.ts'
import type { Dice } from './dice.ts'
import type { Fleet, Member } from './fleet.ts'
import type { Tracer } from './tracer.ts'
import { randomStart } from './workflows.ts'

type Call = Answered['call']

/** Those who start runs, send events and make requests, each time through some process that is up. */
export class Clients {
  readonly #fleet: Fleet
  readonly #tracer: Tracer
  readonly #dice: Dice
  #events = 0

  constructor(fleet: Fleet, tracer: Tracer, dice: Dice) {
    this.#fleet = fleet
    this.#tracer = tracer
    this.#dice = dice
  }

  /** Starts some run; mostly someone waits for its result. */
  start(): void {
    const dice = this.#dice
    const { workflow, input } = randomStart(dice)
    const key = dice.chance(0.3) ? { key: dice.pick('k1', 'k2') } : {}
    const options = {
      ...key,
      priority: dice.pick(0, 0, dice.int(-2, 2)),
      delay: dice.pick(0, 0, dice.int(1, 5000)),
      onConflict: dice.pick('return', 'return', 'revive', 'reject'),
    } as const
    const waits = dice.chance(0.7)
    this.#through(async (member) => {
      let handle: RunHandle | null = null
      await this.#call(member, 'start', '', async () => {
        handle = await member.engine.startWorkflow(workflow, input, options)
        return handle.id
      })
      if (waits && handle !== null) await this.#result(member, handle)
    })
  }

  /** Sends an event to some run, with an id that may have been used before. */
  sendEvent(): void {
    const dice = this.#dice
    const run = this.#someRun()
    if (run === undefined) return
    const name = dice.pick('x', 'x', 'y', 'finish')
    if (dice.chance(0.7)) this.#events += 1
    this.event(run.id, name, `evt-${this.#events}`)
  }

  /** Sends this event. */
  event(runId: string, name: string, id: string): void {
    this.#through(async (member) => {
      const send = async (): Promise<string> => {
        await member.engine.sendEvent(runId, name, `${name}:${id}`, { id })
        return runId
      }
      // The engine keeps ids that callers choose apart from its own by this prefix.
      await this.#call(member, 'event', runId, send, `=${id}`)
    })
  }

  /** Asks something of some run. */
  request(): void {
    const run = this.#someRun()
    if (run === undefined) return
    this.ask(this.#dice.pick('cancel', 'cancel', 'pause', 'resume', 'revive', 'wake'), run.id)
  }

  /** Asks this of this run. */
  ask(verb: 'cancel' | 'pause' | 'resume' | 'revive' | 'wake', runId: string): void {
    this.#through(async (member) => {
      await this.#call(member, verb, runId, async () => {
        await member.engine[verb](runId)
        return runId
      })
    })
  }

  async #result(member: Member, handle: RunHandle): Promise<void> {
    const ended: Record<string, string> = { RUN_FAILED: 'failed', RUN_CANCELLED: 'cancelled' }
    let answer = 'completed'
    try {
      await handle.result({ timeout: this.#dice.int(1000, 120_000) })
    } catch (error) {
      const code = codeOf(error)
      answer = ended[code] ?? code
    }
    this.#answered(member, { call: 'result', runId: handle.id, answer, itemId: null })
  }

  async #call(
    member: Member,
    call: Call,
    about: string,
    act: () => Promise<string>,
    itemId: string | null = null,
  ): Promise<void> {
    let answer = 'ok'
    let runId = about
    try {
      runId = await act()
    } catch (error) {
      answer = codeOf(error)
    }
    this.#answered(member, { call, runId, answer, itemId })
  }

  #answered({ process }: Member, answer: Pick<Answered, 'call' | 'runId' | 'answer' | 'itemId'>): void {
    this.#tracer.add({ type: 'answered', process: process.name, ...answer })
  }

  #through(act: (member: Member) => Promise<void>): void {
    const member = this.#dice.from(this.#fleet.up)
    if (member !== undefined) void act(member)
  }

  /** Mostly one that has not ended. */
  #someRun(): RunRecord | undefined {
    const runs = Array.from(this.#fleet.data.rows(), ({ run }) => run)
    const live = runs.filter(({ status }) => !isTerminal(status))
    return this.#dice.from(this.#dice.chance(0.8) && live.length > 0 ? live : runs)
  }
}

function codeOf(error: unknown): string {
  return isPerdureError(error)
    ? error.code
    : `UNEXPECTED: ${error instanceof Error ? error.stack : String(error)}`
}
