import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Why this machine cannot mount a file system for a test, or `null`. */
export function cannotMount(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-mount-'))
  try {
    system('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder)
    system('umount', folder)
    return null
  } catch {
    return ' (skipped: needs Linux and root, to mount a file system)'
  } finally {
    rmdirSync(folder)
  }
}

/** Mounts a file system of this size in memory until the test is over. */
export function mountMemory(folder: string, size: string): void {
  system('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder)
  onTestFinished(() => system('umount', '-l', folder))
}

/** Makes a mounted file system read-only (`ro`) or writable (`rw`). */
export function remount(folder: string, mode: 'ro' | 'rw'): void {
  system('mount', '-o', `remount,${mode}`, folder)
}

function system(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: 'ignore' })
}
