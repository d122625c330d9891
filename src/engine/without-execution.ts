import type { RunRecord, Transition } from '../core/run.ts'
import type { Environment } from '../ports/environment.ts'
import type { RunJournal, Store } from '../ports/store.ts'
import type { Committer } from './committer.ts'
import type { Ending } from './ending.ts'

/** A claim: what a fenced write needs to know of a run. */
export type Claim = Pick<RunRecord, 'id' | 'fence' | 'owner'>

/** Takes a claimed run to another state without executing it. Resolves to whether the claim was still good. */
export async function advanceUncalled(
  committer: Committer,
  { id, fence, owner }: Claim,
  to: Transition,
  told: Pick<Ending, 'deliveries' | 'deliveriesIfCancelled'>,
  giveUpAt: number,
): Promise<boolean> {
  const { deliveries, deliveriesIfCancelled } = told
  const result = await committer.submit(
    {
      type: 'advance',
      runId: id,
      worker: owner ?? '',
      fence,
      number: 1,
      entries: [],
      progress: false,
      children: [],
      deliveries,
      deliveriesIfCancelled,
      cancels: [],
      consumed: [],
      to,
    },
    giveUpAt,
  )
  return result.status === 'ok'
}

const FIRST_RETRY_MS = 20
const LAST_RETRY_MS = 1000

/**
 * Reads journals, for as long as it takes: a store that does not answer is not a run without a journal. Returns
 * `null` once they are `wanted` no more.
 */
export async function readJournals(
  { store, env }: { readonly store: Store; readonly env: Environment },
  runIds: readonly string[],
  options: { readonly entries: boolean },
  wanted: () => boolean,
): Promise<readonly RunJournal[] | null> {
  if (runIds.length === 0) return []
  for (let delay = FIRST_RETRY_MS; ; delay = Math.min(delay * 2, LAST_RETRY_MS)) {
    try {
      return await store.journal(runIds, options)
    } catch (error) {
      if (!wanted()) return null
      env.log.warn('reading journals failed; trying again', { error: String(error), delay })
      await new Promise<void>((resolve) => env.setTimer(delay, resolve))
    }
  }
}
