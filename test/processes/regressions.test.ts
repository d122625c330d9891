/** Faults that were found by these tests and are mended. */
import { rmSync, truncateSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fill, onSmallDisk, smallDisk } from './disk.ts'
import { type Child, newWorld, until, type World } from './kit.ts'
import { Supervisor } from './supervisor.ts'

/** Four times as long as the engine lets callers wait for a store that takes no writes. */
const BOUND_MS = 20_000
const ROOM = 200_000

for (const scenario of ['close during work', 'close during work, store closed']) {
  test(`B160: ${scenario}: no heartbeat and no sweep goes on after that`, async () => {
    const world = await newWorld()
    const child = world.start('lifecycle', { scenario, lease: 100 })
    expect(await child.ended()).toEqual({ code: 0, signal: null })
    const said = child.lines.filter(({ at }) => !['done', 'work'].includes(at))
    expect(said.map(({ at, method, message }) => `${at}: ${method ?? message}`)).toEqual([])
    expect(['ENGINE_CLOSED', null]).toContain((await child.line('work'))['code'])
  })
}

onSmallDisk(
  'B196: an outcome that does not fit on the disk keeps no caller of startWorkflow waiting',
  async () => {
    const { world, child, filler } = await stuckWorker()
    writeFileSync(world.file('ask'), '')
    await child.line('asking')
    const giveUpAt = Date.now() + BOUND_MS
    await until(
      'the worker answers, or does not',
      () => child.all('answer').length > 0 || Date.now() > giveUpAt,
    )
    const answered = child.all('answer').length
    rmSync(filler)
    await child.line('answer')
    expect(answered).toBe(1)
  },
)

onSmallDisk(
  'B160 B196: an outcome that does not fit on the disk does not keep an engine from closing',
  async () => {
    const { child, filler } = await stuckWorker()
    child.signal('SIGTERM')
    await child.line('signal')
    const giveUpAt = Date.now() + BOUND_MS
    await until('the worker ends, or does not', () => child.exit !== null || Date.now() > giveUpAt)
    const { exit } = child
    rmSync(filler)
    expect(exit).toEqual({ code: 0, signal: null })
  },
)

test('B134: runs that only share their workers with one that kills them do not fail with it', async () => {
  const world = await newWorld()
  const client = world.client('poison', 'harmless')
  const poison = await client.startWorkflow('poison')
  const short = await Promise.all([1, 2, 3].map(() => client.startWorkflow('harmless')))
  const supervisor = new Supervisor(world, { lease: 500, maxDeaths: 8 })
  await expect(poison.result()).rejects.toMatchObject({ cause: { code: 'POISONED_RUN' } })
  const outcomes = await Promise.allSettled(short.map((handle) => handle.result()))
  await supervisor.stop()
  expect(outcomes.filter(({ status }) => status === 'rejected')).toEqual([])
})

/** A worker that tries to write more than there is room for, on a disk that has room for heartbeats. */
async function stuckWorker(): Promise<{ world: World; child: Child; filler: string }> {
  const { world, filler } = await smallDisk()
  const client = world.client('large')
  const child = world.start('stuck', {})
  await child.line('ready')
  await client.startWorkflow('large')
  await child.line('in body')
  const size = fill(filler)
  truncateSync(filler, size - ROOM)
  writeFileSync(world.file('full'), '')
  await child.line('warn')
  return { world, child, filler }
}
