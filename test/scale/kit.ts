import { spawn } from 'node:child_process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What the process holds on to: the heap after all garbage is gone, in bytes. */
export async function heapInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    if (typeof collect === 'function') collect()
  }
  return process.memoryUsage().heapUsed
}

export const MB = 1024 * 1024

/** Runs a program of this folder in a process of its own, and reads the JSON that it prints. */
export function measured(
  program: string,
  ...args: readonly string[]
): Promise<Readonly<Record<string, number>>> {
  const path = new URL(program, import.meta.url).pathname
  const child = spawn(process.execPath, ['--expose-gc', path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output))
      else reject(new Error(`${program} ended with ${code}`))
    })
  })
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
