// A process that does jobs: `node worker.mjs SETTINGS`, until it is killed or its input ends. Each job is one line of ten
// bytes in a log that all workers share, so that what was done can be counted from outside.
import { appendFileSync } from 'node:fs'
import { openTransport } from './transports.mjs'

const { transport, log } = JSON.parse(process.argv[2] ?? '{}')
const { work, close } = await openTransport(transport)
await work(({ n }) => {
  appendFileSync(log, `${String(n).padStart(9, '0')}\n`)
  return n
})
process.stdout.write('ready\n')
process.stdin.resume().on('end', () => void close().then(() => process.exit(0)))
