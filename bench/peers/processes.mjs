// A backlog that 1, 2, 4 and 8 worker processes finish: they are opened first, then all get the word to begin.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { IN_FLIGHT, lanes, settled } from './drive.mjs'

const program = fileURLToPath(new URL('./child.mjs', import.meta.url))

export async function processes({ open, mark, job, size }) {
  const client = await open('starter', {})
  const kind = client.jobsOnly ? 'job' : 'steps'
  const figures = { n: 0 }
  for (const count of size.processes) {
    const workers = await openWorkers(count, job)
    const backlog = await load(client, kind, size)
    const pids = workers.map(({ pid }) => pid)
    if (count === 1) await mark('begin', pids)
    const startedAt = performance.now()
    for (const worker of workers) worker.send('go')
    await settled(client, backlog)
    figures[`with${count}`] = (backlog.n / (performance.now() - startedAt)) * 1000
    if (count === 1) {
      await mark('end', pids)
      figures.n = backlog.n
    }
    await Promise.all(workers.map(close))
  }
  await Promise.race([client.close(), new Promise((resolve) => setTimeout(resolve, 3000))])
  return figures
}

async function openWorkers(count, job) {
  const argv = [JSON.stringify({ ...job, role: 'worker' })]
  const workers = Array.from({ length: count }, () =>
    fork(program, argv, { stdio: ['ignore', 'ignore', 2, 'ipc'] }),
  )
  await Promise.all(workers.map((worker) => readyOf(worker)))
  return workers
}

async function readyOf(worker) {
  const died = once(worker, 'exit').then(([code]) => {
    throw new Error(`A worker process ended with code ${code}.`)
  })
  died.catch(() => {})
  await Promise.race([once(worker, 'message'), died])
}

/** Starts runs that nobody executes yet: for some time, or up to a number. */
async function load(client, kind, size) {
  const before = await client.count()
  const until = performance.now() + size.backlogSeconds * 1000
  let n = 0
  await lanes(size.backlog, IN_FLIGHT, async (i) => {
    if (performance.now() > until) return
    await client.start(kind, { i, steps: 1 })
    n++
  })
  return { handles: [], before, n }
}

async function close(worker) {
  const over = once(worker, 'exit')
  worker.send('end')
  const timer = setTimeout(() => worker.kill('SIGKILL'), 5000)
  await over
  clearTimeout(timer)
}
