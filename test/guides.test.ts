import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { service } from './services/service.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const guides = readdirSync(join(root, 'docs')).flatMap((file) =>
  file.startsWith('coming-from-') ? [file.replace(/\.md$/, '')] : [],
)

/** The command behind `npm run guide`. Rejects unless every snippet prints what the guide says. */
async function guide(...args: readonly string[]): Promise<string> {
  const env = { ...process.env, PERDURE_SKIP_BUILD: '1' }
  const command = [join(root, 'docs', 'run.mjs'), ...args]
  const { stdout } = await run(process.execPath, command, { cwd: root, env, timeout: 50_000 })
  return stdout
}

describe('the guides', () => {
  it('are there, and are listed', async () => {
    expect(guides).toContain('coming-from-a-mongo-runner')
    const listed = await guide()
    for (const name of guides) expect(listed).toContain(name)
  })

  it.each(guides)('%s runs without a server, and says what it leaves out', async (name) => {
    expect(await guide(name)).toMatch(/line \d+\n/)
  })

  it.each(guides)('%s runs as a whole where its servers are', async (name) => {
    const servers = ['--mongodb', await service('mongo'), '--redis', await service('redis')]
    const printed = await guide(name, ...servers, '--postgres', await service('postgres'))
    expect(printed).not.toContain('LEFT OUT')
  })

  it('of an unknown name is an error', async () => {
    await expect(guide('coming-from-nowhere')).rejects.toMatchObject({ code: 1 })
  })
})
