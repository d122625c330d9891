import type { CommandSpec } from '../command.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { escapeText } from '../format/escape.ts'
import { jsonText } from '../format/json.ts'
import { isoTime } from '../format/time.ts'
import { loadApp } from '../load-module.ts'
import { makeEngine } from '../make-engine.ts'
import { storeToWork } from '../open-store.ts'
import { given, textsOption, wholeOption } from '../options.ts'
import { onStopSignal } from '../signals.ts'

const MAX_CONCURRENCY = 100_000

/** `perdure work`: executes runs until it is told to stop. */
export const workCommand: CommandSpec = {
  usage: 'work <module>',
  description: 'Execute runs until SIGINT or SIGTERM; a second one stops at once',
  options: [
    ['--concurrency <n>', 'How many runs may execute at once (default: 100)'],
    ['--queue <queue>', 'Work only on this queue; may be repeated (default: all)'],
  ],
  examples: ['perdure work ./order.mjs --concurrency 20 --queue orders --queue mails'],
  async action(context, [module = ''], options) {
    const concurrency = wholeOption(options, 'concurrency', { min: 1, max: MAX_CONCURRENCY })
    const queues = textsOption(options, 'queue')
    const app = await loadApp(module, context.cwd)
    const store = storeToWork(context, options, app)
    const isWatched = context.isTerminal || context.verbose || context.json
    const { engine, close } = makeEngine(context, { app, store, write: isWatched ? context.out : null })
    const stop = onStopSignal(process)
    try {
      await engine.work(given({ concurrency, queues }))
      const workflows = [...app.workflows.map(({ name }) => name), ...Object.keys(app.functions)]
      tell(context, 'working', { store: store.name, workflows: workflows.join(', ') })
      await stop.requested
      tell(context, 'closing', { hint: 'steps that run may end; press Ctrl-C again to stop at once' })
    } finally {
      await close()
      stop.dispose()
    }
    tell(context, 'closed', {})
    return EXIT.ok
  },
}

/** A line about the worker itself: one that a supervisor of processes can wait for. */
function tell(context: Context, event: string, facts: Readonly<Record<string, string>>): void {
  const { json, out, now, colours } = context
  const details = Object.entries(facts).map(([name, value]) => `${name}: ${escapeText(value)}`)
  const line = [colours.bold(`perdure ${event}`), ...details].join('; ')
  out(json ? jsonText({ time: isoTime(now()), event, ...facts }) : line)
}
