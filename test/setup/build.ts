import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/**
 * Builds `dist` once before the tests, because worker threads and child processes load the built files.
 * `PERDURE_SKIP_BUILD=1` leaves `dist` as it is: for tests that need none, and for a caller that has just built.
 */
export default function buildBeforeTests(): void {
  if (process.env['PERDURE_SKIP_BUILD']) return

  const root = fileURLToPath(new URL('../..', import.meta.url))
  const tsdown = createRequire(import.meta.url).resolve('tsdown/run')
  // Without cleaning: another test run may be loading these files at this moment.
  const build = spawnSync(process.execPath, [tsdown, '--no-clean', '--logLevel', 'warn'], {
    cwd: root,
    encoding: 'utf8',
  })
  if (build.status !== 0) {
    throw new Error(
      `The build that the tests need has failed; try "npm run build".\n${build.stdout}${build.stderr}`,
    )
  }
}
