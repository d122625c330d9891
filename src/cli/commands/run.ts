import { type Engine, isPerdureError, type RunHandle, type RunStatus } from '../../index.ts'
import { usageError } from '../cli-error.ts'
import type { CommandSpec } from '../command.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { errorLines } from '../format/error.ts'
import { escapeText } from '../format/escape.ts'
import { jsonDocument } from '../format/json.ts'
import { runJson } from '../format/run.ts'
import { loadApp } from '../load-module.ts'
import { makeEngine } from '../make-engine.ts'
import { storeToWork } from '../open-store.ts'
import { given, textOption } from '../options.ts'
import { watchForPause } from '../pause-watch.ts'
import { onStopSignal } from '../signals.ts'

/** `perdure run`: starts a run and works, in this process, until it has ended. */
export const runCommand: CommandSpec = {
  usage: 'run <module> <workflow>',
  description: 'Start a run, work until it ends, print its output',
  options: [
    ['--input <json>', 'Input of the run, as JSON'],
    ['--key <key>', 'Dedupe key: a run that holds it already is found, not started again'],
    ['--id <id>', 'Id of the run (default: a new UUIDv7)'],
    ['--no-wait', 'Only start the run, for a worker to execute; print its id'],
  ],
  examples: [
    `perdure run ./order.mjs order --input '{"orderId":"o-17"}'`,
    'While it waits, this process works on whatever else is due for the workflows of the module.',
  ],
  async action(context, [module = '', workflow = ''], options) {
    const input = parseInput(textOption(options, 'input'))
    const app = await loadApp(module, context.cwd)
    const store = storeToWork(context, options, app)
    const write = context.verbose ? context.err : null
    const { engine, close } = makeEngine(context, { app, store, write })
    const stop = onStopSignal(process)
    try {
      const ids = given({ key: textOption(options, 'key'), id: textOption(options, 'id') })
      const handle = await engine.startWorkflow(workflow, input, ids)
      tellStart(context, handle, workflow)
      if (options['wait'] === false) return await printStarted(context, handle)
      return await workUntilEnd(context, engine, { handle, interrupted: stop.requested })
    } finally {
      await close()
      stop.dispose()
    }
  },
}

/** The input of a run from JSON. Without any, the input is `undefined`. */
function parseInput(json: string | undefined): unknown {
  if (json === undefined) return undefined
  try {
    return JSON.parse(json)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(`The option --input is not JSON (${reason}). A text needs its quotes: --input '"text"'.`)
  }
}

function tellStart({ json, err, colours }: Context, handle: RunHandle, workflow: string): void {
  if (json) return
  const id = escapeText(handle.id)
  if (handle.created) err(colours.dim(`Run ${id} of ${escapeText(workflow)} is started.`))
  else err(`Run ${id} was found: it holds the key or id already.`)
  if (handle.inputDiffers) err(colours.yellow('Its input is another one than the given.'))
}

async function printStarted({ json, verbose, out }: Context, handle: RunHandle): Promise<number> {
  out(json ? jsonDocument(runJson(await handle.get()), { stacks: verbose }) : escapeText(handle.id))
  return EXIT.ok
}

type Outcome =
  | { readonly type: 'returned'; readonly output: unknown }
  | { readonly type: 'threw'; readonly error: unknown }
  | { readonly type: 'interrupted'; readonly exitCode: number }
  | { readonly type: 'paused' }

async function workUntilEnd(
  context: Context,
  engine: Engine,
  { handle, interrupted }: { readonly handle: RunHandle; readonly interrupted: Promise<number> },
): Promise<number> {
  await engine.work()
  const pause = watchForPause(handle)
  const outcome = await Promise.race<Outcome>([
    handle.result().then(
      (output): Outcome => ({ type: 'returned', output }),
      (error: unknown): Outcome => ({ type: 'threw', error }),
    ),
    interrupted.then((exitCode): Outcome => ({ type: 'interrupted', exitCode })),
    pause.paused.then((): Outcome => ({ type: 'paused' })),
  ])
  pause.stop()
  return await printOutcome(context, handle, outcome)
}

async function printOutcome(context: Context, handle: RunHandle, outcome: Outcome): Promise<number> {
  const { json, err, out, colours } = context
  if (outcome.type === 'interrupted') {
    if (!json) err(`Interrupted. Run ${handle.id} goes on as soon as a worker takes it.`)
    return outcome.exitCode
  }
  const error = outcome.type === 'threw' ? outcome.error : null
  if (error !== null && !tellsEnd(error)) throw error
  if (json) return await printRun(context, handle)
  if (outcome.type === 'paused') {
    err(colours.yellow(`Run ${handle.id} is paused. See: perdure runs show ${handle.id}`))
    return EXIT.paused
  }
  if (outcome.type === 'returned') {
    out(jsonDocument(outcome.output))
    return EXIT.ok
  }
  return printEnd(context, handle.id, error)
}

/** Whether an error of `result()` is how the run ended, and not a failure to find that out. */
function tellsEnd(error: unknown): boolean {
  return isPerdureError(error) && (error.code === 'RUN_FAILED' || error.code === 'RUN_CANCELLED')
}

function printEnd({ err, colours, verbose }: Context, id: string, error: unknown): number {
  const isFailure = isPerdureError(error) && error.code === 'RUN_FAILED'
  err(isFailure ? colours.red(`Run ${id} failed:`) : colours.yellow(`Run ${id} was cancelled:`))
  for (const line of errorLines(isFailure ? error.cause : error, { stacks: verbose })) err(line)
  return isFailure ? EXIT.failed : EXIT.cancelled
}

async function printRun({ out, verbose }: Context, handle: RunHandle): Promise<number> {
  const run = await handle.get()
  out(jsonDocument(runJson(run, { stacks: verbose })))
  return exitCodeOfStatus(run.status)
}

function exitCodeOfStatus(status: RunStatus): number {
  if (status === 'failed') return EXIT.failed
  if (status === 'cancelled') return EXIT.cancelled
  return status === 'paused' ? EXIT.paused : EXIT.ok
}
