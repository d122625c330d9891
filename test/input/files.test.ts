import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import type { Engine } from '../../src/engine/api.ts'
import { defineWorkflow } from '../../src/engine/define.ts'
import { createEngine } from '../../src/engine/engine.ts'
import { type SqliteOptions, sqlite } from '../../src/stores/sqlite/index.ts'
import { silentLog } from '../../src/testing/virtual-time.ts'
import { openConnection, temporaryFolder } from '../sqlite/helpers.ts'
import { cannotMount, mountMemory, remount } from '../sqlite/mount.ts'

const work = defineWorkflow({ name: 'work' }, ({ input, step }) => step.do('echo', () => input))

/** The two ways in: both must say what is wrong, at the first call. */
const calls: readonly (readonly [string, (engine: Engine) => Promise<unknown>])[] = [
  ['startWorkflow', (engine) => engine.startWorkflow(work, 1)],
  ['work', (engine) => engine.work()],
]

describe.each(calls)('%s says, with the path, what is wrong with the file:', (_, call) => {
  test('a newer version made it', async () => {
    const path = await madeFile()
    const connection = await openConnection(path)
    connection.exec("INSERT INTO perdure_migrations (number, name, checksum) VALUES (99, 'later', 'x')")
    await refused(path, 'STORE_NEWER_SCHEMA', call)
  })

  test('it is no database; it stays as it is', async () => {
    const path = join(await temporaryFolder(), 'letter.txt')
    const text = 'Dear Ada,\n'.repeat(500)
    writeFileSync(path, text)
    await refused(path, 'STORE_CORRUPT', call)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  test('its folder is missing; it is not made', async () => {
    const folder = join(await temporaryFolder(), 'missing')
    await refused(join(folder, 'work.db'), 'STORE_UNAVAILABLE', call)
    expect(existsSync(folder)).toBe(false)
  })

  test('it is a folder', async () => {
    const path = join(await temporaryFolder(), 'work.db')
    mkdirSync(path)
    await refused(path, 'STORE_UNAVAILABLE', call)
  })

  test('it was opened only to be read', async () => {
    const path = await madeFile()
    await refused(path, 'STORE_READ_ONLY', call, { readOnly: true })
  })
})

test('an engine on a file that is only read still tells about its runs', async () => {
  const path = await madeFile()
  const engine = engineOn(path, { readOnly: true })
  expect((await engine.listRuns()).runs).toMatchObject([{ workflow: 'work', status: 'completed' }])
  const [run] = (await engine.listRuns()).runs
  expect((await engine.getHandle(run?.id ?? '').history()).entries).toMatchObject([{ name: 'echo' }])
})

test('a file whose folder is made after all is used by the same engine', async () => {
  const folder = join(await temporaryFolder(), 'missing')
  const engine = engineOn(join(folder, 'work.db'))
  await expect(engine.startWorkflow(work, 1)).rejects.toBeInstanceOf(StoreError)
  mkdirSync(folder)
  await engine.work()
  expect(await (await engine.startWorkflow(work, 1)).result({ timeout: '20s' })).toBe(1)
})

const reason = cannotMount()
const mounted = reason === null ? test : test.skip

mounted(
  `a full disk: no start is lost or half done, and starts are taken again when there is space${reason ?? ''}`,
  async () => {
    const folder = await temporaryFolder()
    mountMemory(folder, '3m')
    const filler = join(folder, 'filler')
    writeFileSync(filler, new Uint8Array(1024 * 1024))
    const engine = engineOn(join(folder, 'work.db'))
    const accepted: string[] = []
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 500; i += 1) {
        accepted.push((await engine.startWorkflow(work, 'x'.repeat(20_000))).id)
      }
    }
    const failure = await fill().catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'STORE_FULL' })
    expect(String(failure)).toContain(folder)
    const { runs } = await engine.listRuns({ limit: 1000 })
    expect(runs.map(({ id }) => id).sort()).toEqual(accepted.sort())
    rmSync(filler)
    expect(await engine.startWorkflow(work, 1)).toMatchObject({ created: true })
  },
)

mounted(
  `a disk that becomes full during a run: it goes on when there is space, no step done twice${reason ?? ''}`,
  async () => {
    const folder = await temporaryFolder()
    mountMemory(folder, '10m')
    const filler = join(folder, 'filler')
    writeFileSync(filler, new Uint8Array(7 * 1024 * 1024))
    const [refusals, bodies]: [string[], number[]] = [[], []]
    const fills = defineWorkflow({ name: 'fills' }, async ({ step }) => {
      for (let i = 0; i < 150; i += 1) {
        await step.do('write', () => {
          bodies.push(i)
          return String(i).padEnd(20_000, '.')
        })
      }
      return 'filled'
    })
    const warn = (message: string): void => {
      refusals.push(message)
    }
    const options = { store: sqlite(join(folder, 'work.db')), workflows: [fills] }
    const engine = createEngine({ ...options, log: { ...silentLog, warn } })
    onTestFinished(() => engine.close({ timeout: 0 }))
    await engine.work()
    const handle = await engine.startWorkflow(fills, null)
    await expect.poll(() => refusals.length, { timeout: 20_000 }).toBeGreaterThan(0)
    expect(await handle.status()).toBe('running')
    rmSync(filler)
    expect(await handle.result({ timeout: '20s' })).toBe('filled')
    expect(bodies).toEqual(Array.from({ length: 150 }, (_, i) => i))
  },
)

mounted(`a folder that cannot be written${reason ?? ''}`, async () => {
  const folder = await temporaryFolder()
  mountMemory(folder, '4m')
  remount(folder, 'ro')
  const engine = engineOn(join(folder, 'work.db'))
  const start = engine.startWorkflow(work, 1)
  await expect(start).rejects.toMatchObject({ code: 'STORE_READ_ONLY' })
  await expect(start).rejects.toThrow(folder)
})

async function refused(
  path: string,
  code: string,
  call: (engine: Engine) => Promise<unknown>,
  options: SqliteOptions = {},
) {
  const engine = engineOn(path, options)
  const answer = await call(engine).catch((error: unknown) => error)
  expect(answer).toBeInstanceOf(StoreError)
  expect(answer).toMatchObject({ code })
  expect(String(answer)).toContain(path.slice(0, path.lastIndexOf('/')))
}

/** A file with one run that is completed. */
async function madeFile(): Promise<string> {
  const path = join(await temporaryFolder(), 'work.db')
  const engine = engineOn(path)
  await engine.work()
  await (await engine.startWorkflow(work, 1)).result({ timeout: '20s' })
  await engine.close()
  return path
}

function engineOn(path: string, options: SqliteOptions = {}): Engine {
  const engine = createEngine({ store: sqlite(path, options), workflows: [work], log: silentLog })
  onTestFinished(() => engine.close({ timeout: 0 }))
  return engine
}
