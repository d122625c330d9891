/**
 * A process that ends while a thread is inside a native call of the driver may be aborted by that driver. So when the
 * process exits, it waits for the call that is going on, and the threads begin no other.
 */

/** Shared by a thread and its process. */
export type Guard = Int32Array

const STOP = 0
const BUSY = 1

/** A database that takes longer than this for one transaction is not waited for. */
const LONGEST_WAIT_MS = 5_000

const guards = new Set<Guard>()

/** A guard for a new thread. */
export function newGuard(): Guard {
  const guard = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  if (guards.size === 0) process.on('exit', waitForAll)
  guards.add(guard)
  return guard
}

/** The thread has ended. */
export function dropGuard(guard: Guard): void {
  guards.delete(guard)
  if (guards.size === 0) process.off('exit', waitForAll)
}

/** In the thread: does some work, unless the process is ending. */
export function guarded(guard: Guard, work: () => void): void {
  Atomics.store(guard, BUSY, 1)
  try {
    if (Atomics.load(guard, STOP) === 0) work()
  } finally {
    Atomics.store(guard, BUSY, 0)
    Atomics.notify(guard, BUSY)
  }
}

function waitForAll(): void {
  for (const guard of guards) {
    Atomics.store(guard, STOP, 1)
    Atomics.wait(guard, BUSY, 1, LONGEST_WAIT_MS)
  }
}
