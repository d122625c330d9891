// One measurement in a process of its own: `node child.mjs '{"system":…}'`. Prints one line of JSON, and tells the
// parent when the measured part begins and ends, so that the parent can read the meters from outside.
import { systems } from './systems/index.mjs'
import { workloads } from './workloads.mjs'

const job = JSON.parse(process.argv[2] ?? '{}')
const system = systems.find(({ name }) => name === job.system)
const setting = system.settings.find(({ name }) => name === job.setting)
const open = (role, hooks) => system.open({ setting, place: job.place, role, ...hooks })

if (job.role === 'worker') await work()
else console.log(JSON.stringify({ result: await measure() }))
process.exit(0)

async function measure() {
  const { run } = workloads[job.workload]
  return await run({ open, mark, job, size: job.size, mode: setting.wait })
}

/** Says that a part begins or ends, and waits until the parent has read its meters. */
async function mark(name, pids = []) {
  const answered = new Promise((resolve) => process.once('message', resolve))
  process.send?.({ mark: name, pids })
  if (process.send) await answered
}

/** A worker process: opens, waits for the word, works until it is told to end. */
async function work() {
  const client = await open('worker', {})
  process.on('disconnect', () => process.exit(0))
  const told = new Promise((resolve) => process.once('message', resolve))
  process.send('ready')
  await told
  await client.work()
  await new Promise((resolve) => process.once('message', resolve))
  await Promise.race([client.close(), new Promise((resolve) => setTimeout(resolve, 3000))])
}
