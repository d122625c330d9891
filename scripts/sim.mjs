// Simulates many seeds, or one: see `npm run sim -- --help`. Uses the built package; builds it if it is not there.

import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { bootstrap } from './bootstrap.mjs'

const HELP = `npm run sim -- [--seeds 1000] [--from 1] [--workers 4]   many seeds; exit code 1 if an invariant is violated
npm run sim -- --seed 123 [--trace]                      one seed, with everything that happened in it`

const number = { type: 'string' }
const { values } = parseArgs({
  options: {
    seeds: { ...number, default: '1000' },
    from: { ...number, default: '1' },
    workers: { ...number, default: '4' },
    seed: number,
    trace: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const workers = whole('workers', values.workers)

if (values.help) console.log(HELP)
else if (process.send !== undefined) await simulateRange()
else if (values.seed !== undefined) await simulateOne(whole('seed', values.seed))
else simulateAll(whole('from', values.from), whole('seeds', values.seeds))

async function simulateOne(seed) {
  const { simulate, formatTrace, formatViolations } = await library()
  const simulation = await simulate({ seed, workers })
  if (values.trace) console.log(formatTrace(simulation.trace))
  if (simulation.violations.length > 0) console.log(formatViolations(simulation))
  else
    console.log(`Seed ${seed}: all invariants hold. ${simulation.trace.length} events, ${simulation.digest}`)
  process.exitCode = simulation.violations.length > 0 ? 1 : 0
}

/** In a child process: simulates seeds as long as the parent sends some. */
async function simulateRange() {
  const { simulate, formatViolations } = await library()
  process.on('message', async ({ from, to }) => {
    for (let seed = from; seed < to; seed += 1) {
      const simulation = await simulate({ seed, workers })
      if (simulation.violations.length > 0) process.send({ report: formatViolations(simulation) })
    }
    process.send({ done: to - from })
  })
  process.send({ done: 0 })
}

/** One child process per core; each gets the next seeds when it is through with its own. */
function simulateAll(first, count) {
  bootstrap()
  const started = Date.now()
  const end = first + count
  let next = first
  let done = 0
  let failed = 0
  for (let index = 0; index < availableParallelism(); index += 1) {
    const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2))
    child.on('message', (message) => {
      if (message.report !== undefined) {
        failed += 1
        process.exitCode = 1
        console.log(`\n${message.report}\n`)
        return
      }
      done += message.done
      const perSecond = Math.round(done / ((Date.now() - started) / 1000))
      if (message.done > 0)
        progress(`${done} of ${count} seeds, ${failed} failed, ${perSecond} per second`, done === count)
      if (next >= end) return child.disconnect()
      child.send({ from: next, to: Math.min(next + 50, end) })
      next += 50
    })
    child.on('exit', (code) => {
      if (code !== 0) process.exitCode = 1
    })
  }
}

function progress(line, isLast) {
  if (process.stdout.isTTY) process.stdout.write(`\r${line}${isLast ? '\n' : ''}`)
  else if (isLast || Math.random() < 0.05) console.log(line)
}

async function library() {
  bootstrap()
  return await import('perdure/testing')
}

function whole(name, text) {
  const value = Number(text)
  if (Number.isInteger(value) && value >= 1) return value
  console.error(`--${name} is a whole number from 1.\n\n${HELP}`)
  process.exit(2)
}
