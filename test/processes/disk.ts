/** A disk of a few megabytes for a test's database, and how to fill it. */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'vitest'
import { cannotMount, mountMemory } from '../sqlite/mount.ts'
import { newWorld, World } from './kit.ts'
import { fileIn } from './places.ts'

const reason = cannotMount()

/** A test that needs such a disk. It is skipped, saying why, where none can be mounted, but never in CI. */
export function onSmallDisk(name: string, body: () => Promise<void>): void {
  if (reason === null) test(name, body)
  else if (!process.env['CI']) test.skip(`${name}${reason}`, body)
  else {
    test(name, () => {
      throw new Error(`In CI this test must not be skipped.${reason}`)
    })
  }
}

/** A world whose database is on a disk of its own; the log of side effects is not. */
export async function smallDisk(): Promise<{ readonly world: World; readonly filler: string }> {
  const outer = await newWorld()
  const disk = outer.file('disk')
  mkdirSync(disk)
  mountMemory(disk, '8m')
  return { world: new World(outer.folder, fileIn(disk)), filler: join(disk, 'filler') }
}

/** Writes until nothing fits any more. Returns how much that was, in bytes. */
export function fill(path: string): number {
  let written = 0
  const file = openSync(path, 'w')
  for (let size = 1 << 20; size >= 1; ) {
    try {
      written += writeSync(file, new Uint8Array(size))
    } catch {
      size = Math.floor(size / 2)
    }
  }
  closeSync(file)
  return written
}
