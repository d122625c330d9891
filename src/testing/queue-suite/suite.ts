import type { QueueAdapter } from '../../queues/adapter.ts'
import type { RegisterTest } from '../store-suite/suite.ts'

/** A queue of its own, as a test gets it. */
export interface OpenQueue {
  readonly queue: QueueAdapter
  /** Opens the same queue once more, as another process would. Needed unless `oneProcess`. */
  readonly reopen?: () => Promise<QueueAdapter>
  /** Closes what is still open and removes the jobs. Called once, also after a failed test. */
  readonly dispose: () => Promise<void>
}

/** What the suite needs from its caller. */
export interface QueueAdapterSuiteOptions {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: RegisterTest
  /** Opens an empty queue. */
  readonly open: () => Promise<OpenQueue>
  /** The queue lives in one process: leave out the tests of what others see of it. Default `false`. */
  readonly oneProcess?: boolean
}

/** What the files of the suite register their tests with. */
export interface QueueSuite {
  readonly describe: QueueAdapterSuiteOptions['describe']
  /** A test on a fresh queue. */
  readonly scenario: (name: string, body: (queue: QueueAdapter) => Promise<void>) => void
  /** A test with a second process; left out where the queue lives in one process. */
  readonly shared: (name: string, body: (queue: QueueAdapter, other: QueueAdapter) => Promise<void>) => void
}

export function queueSuiteOf({
  describe,
  test,
  open,
  oneProcess = false,
}: QueueAdapterSuiteOptions): QueueSuite {
  const withQueue = async (body: (opened: OpenQueue) => Promise<void>): Promise<void> => {
    const opened = await open()
    try {
      await body(opened)
    } finally {
      await opened.queue.shutdown()
      await opened.dispose()
    }
  }
  return {
    describe,
    scenario: (name, body) => {
      test(name, () => withQueue(({ queue }) => body(queue)))
    },
    shared: (name, body) => {
      if (oneProcess) return
      test(name, () =>
        withQueue(async ({ queue, reopen }) => {
          if (reopen === undefined)
            throw new Error('This test needs `reopen`, or the suite `oneProcess: true`.')
          const other = await reopen()
          await body(queue, other).finally(() => other.shutdown())
        }),
      )
    },
  }
}

/** Resolves when `isSo` does. */
export async function until(isSo: () => Promise<boolean> | boolean): Promise<void> {
  const giveUp = performance.now() + 30_000
  while (!(await isSo())) {
    if (performance.now() > giveUp) throw new Error(`This did not become so within 30 seconds: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A handler that begins and ends when the test says so. */
export function held(): {
  readonly begun: Promise<void>
  readonly release: () => void
  handler(): Promise<string>
} {
  let begin = (): void => {}
  let release = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const handler = async (): Promise<string> => {
    begin()
    await released
    return 'released'
  }
  return { begun, release, handler }
}

/** The id of a job that is enqueued for the first time. */
export function added(id: string | null): string {
  if (id === null) throw new Error('The job was not added.')
  return id
}
