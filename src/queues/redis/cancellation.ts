import type { Queue } from 'bullmq'
import type { Redis } from 'ioredis'

/**
 * Takes a job out of what waits and keeps its hash under another name, in one step: so a worker that takes the job at
 * the same moment either has it, or never sees it. The keys are those of BullMQ 5 and 6.
 */
const CANCEL = `
local id = ARGV[1]
local taken = redis.call('LREM', KEYS[1], 0, id) + redis.call('LREM', KEYS[2], 0, id)
  + redis.call('ZREM', KEYS[3], id) + redis.call('ZREM', KEYS[4], id)
if taken == 0 then return 0 end
redis.call('RENAME', KEYS[5], KEYS[6])
redis.call('PEXPIRE', KEYS[6], ARGV[2])
return 1`

/** A queue, and a client for what BullMQ has no word for. */
export interface Lane {
  readonly queue: Queue
  readonly client: Redis
}

/** @returns whether the job was pending, so that it is cancelled now; it is remembered for `retentionMs` */
export async function cancelPending(
  { queue, client }: Lane,
  id: string,
  retentionMs: number,
): Promise<boolean> {
  const waiting = ['wait', 'paused', 'delayed', 'prioritized'].map((name) => queue.toKey(name))
  const keys = [...waiting, queue.toKey(id), cancelledKey(queue, id)]
  return (await client.eval(CANCEL, keys.length, ...keys, id, retentionMs)) === 1
}

/** The data of a job that was cancelled, or `null`. */
export async function cancelledData({ queue, client }: Lane, id: string): Promise<string | null> {
  return await client.hget(cancelledKey(queue, id), 'data')
}

export async function forgetCancelled({ queue, client }: Lane, id: string): Promise<void> {
  await client.del(cancelledKey(queue, id))
}

function cancelledKey(queue: Queue, id: string): string {
  return queue.toKey(`cancelled:${id}`)
}
