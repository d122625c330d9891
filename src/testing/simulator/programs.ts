import { isPerdureError } from '../../core/errors.ts'
import type { WorkflowContext } from '../../engine/workflow.ts'
import { type Bodies, Seen } from './bodies.ts'
import type { Dice } from './dice.ts'

/** One operation of a random program. */
export type Op =
  | {
      readonly do: 'step'
      readonly name: string
      readonly fails: number
      readonly retries: number
      readonly once: boolean
    }
  | { readonly do: 'sleep'; readonly ms: number }
  | { readonly do: 'event'; readonly name: string; readonly ms: number }
  | { readonly do: 'child'; readonly program: Program }
  | { readonly do: 'call'; readonly retries: number }
  | { readonly do: 'save' }
  | { readonly do: 'value' }
  | { readonly do: 'map'; readonly items: number; readonly concurrency: number }
  | { readonly do: 'parallel' | 'race'; readonly branches: readonly Program[] }
  | { readonly do: 'finally'; readonly body: Program; readonly cleanup: Program }

/** Operations one after the other. */
export type Program = readonly Op[]

/** Writes a random program. `depth` bounds nesting. */
export function randomProgram(dice: Dice, depth: number): Program {
  return Array.from({ length: dice.int(1, depth === 0 ? 2 : 4) }, () => randomOp(dice, depth))
}

function randomOp(dice: Dice, depth: number): Op {
  const kind = dice.int(0, depth === 0 ? 9 : 14)
  if (kind <= 3) {
    const retries = dice.pick(0, 0, 2)
    const once = retries === 0 && dice.chance(0.2)
    // Few names, so that parallel branches use the same ones.
    return { do: 'step', name: dice.pick('a', 'b', 'c'), fails: dice.pick(0, 0, 0.3), retries, once }
  }
  if (kind === 4) return { do: 'sleep', ms: dice.pick(0, dice.int(1, 200), dice.int(1, 8000)) }
  if (kind === 5) return { do: 'event', name: dice.pick('x', 'y'), ms: dice.int(0, 10_000) }
  if (kind === 6) return { do: 'call', retries: dice.pick(0, 1, 3) }
  if (kind === 7) return { do: 'save' }
  if (kind === 8) return { do: 'value' }
  if (kind === 9) return { do: 'map', items: dice.int(0, 5), concurrency: dice.int(1, 3) }
  if (kind === 10) return { do: 'child', program: randomProgram(dice, depth - 1) }
  if (kind === 11) {
    return { do: 'finally', body: randomProgram(dice, depth - 1), cleanup: randomProgram(dice, 0) }
  }
  const branches = Array.from({ length: dice.int(2, 3) }, () => randomProgram(dice, depth - 1))
  return { do: kind === 12 ? 'race' : 'parallel', branches }
}

/** Executes programs as a workflow's function. */
export function interpreter(bodies: Bodies) {
  return async (context: WorkflowContext<Program>): Promise<string> => {
    const seen = new Seen()
    await runAll(context.input, { context, bodies, seen })
    return seen.digest
  }
}

interface Machine {
  readonly context: WorkflowContext<Program>
  readonly bodies: Bodies
  readonly seen: Seen
}

async function runAll(program: Program, machine: Machine): Promise<void> {
  for (const op of program) {
    try {
      machine.seen.take(await run(op, machine))
    } catch (error) {
      machine.seen.take(codeOf(error))
      // Some programs end with the first failure, some go on; a cancelled one mostly ends.
      if (isInterrupt(error) || program.length % 2 === 0) throw error
    }
  }
}

async function run(op: Op, machine: Machine): Promise<unknown> {
  const { step, run: control } = machine.context
  const { bodies, seen } = machine
  switch (op.do) {
    case 'step': {
      const args = seen.digest
      const options = op.once ? { atMostOnce: true } : { retries: op.retries, retryDelay: 700 }
      return await step.do(op.name, (body) => bodies.work(args, body, { fails: op.fails }), options)
    }
    case 'sleep':
      return await step.sleep('sleep', op.ms)
    case 'event':
      return await step.waitForEvent(op.name, { timeout: op.ms })
    case 'child':
      return await step.do('child', 'program', op.program)
    case 'call':
      return await step.do('call', 'service', seen.digest, { retries: op.retries, retryDelay: 300 })
    case 'save':
      return await control.save({ seen: seen.digest })
    case 'value':
      return [step.now(), step.random(), step.uuid()]
    case 'map':
      return await step.map(
        'map',
        Array.from({ length: op.items }, (_, index) => index),
        (item, body) => bodies.work(String(item), body, { fails: 0.02 }),
        { concurrency: op.concurrency },
      )
    case 'parallel':
      await Promise.all(op.branches.map((branch) => runAll(branch, machine)))
      return 'all'
    case 'race':
      await Promise.race(op.branches.map((branch) => runAll(branch, machine)))
      return 'first'
    case 'finally':
      try {
        await runAll(op.body, machine)
      } finally {
        await runAll(op.cleanup, machine)
      }
      return 'cleaned up'
  }
}

function isInterrupt(error: unknown): boolean {
  return ['RUN_CANCELLED', 'RUN_TIMEOUT'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return isPerdureError(error) ? error.code : String(error)
}
