import type { Transition } from '../../../src/ports/store.ts'
import { type Break, patch, writes } from './tools.ts'

/** Stores that break a promise about writes, by what they do wrong. */
export const brokenWrites: Readonly<Record<string, Break>> = {
  'advance ignores the fence': writes({
    advance: (write, data) => ({ ...write, fence: data.row(write.runId)?.run.fence ?? 0 }),
  }),
  'advance ignores the owner': writes({
    advance: (write, data) => ({ ...write, worker: data.row(write.runId)?.run.owner ?? write.worker }),
  }),
  'advance keeps the entries although it is fenced': writes({
    advance(write, data) {
      for (const entry of write.entries) data.row(write.runId)?.entries.set(entry.key, entry)
      return write
    },
  }),
  'a late write replaces what is newer': writes({
    advance(write, data) {
      data.row(write.runId)?.written.clear()
      return write
    },
  }),
  'advance creates the children although it is fenced': (store, data) => ({
    ...store,
    async commit(batch, now) {
      const children = batch.flatMap((write) => (write.type === 'advance' ? write.children : []))
      await store.commit(
        children
          .filter(({ run }) => data.row(run.id) === undefined)
          .map((birth) => ({ type: 'create', ...birth })),
        now,
      )
      return store.commit(batch, now)
    },
  }),
  'advance loses the children': writes({ advance: (write) => ({ ...write, children: [] }) }),
  'advance loses the deliveries': writes({ advance: (write) => ({ ...write, deliveries: [] }) }),
  'advance tells the parent the end that a cancel overruled': writes({
    advance: (write) => ({ ...write, deliveriesIfCancelled: write.deliveries }),
  }),
  'advance loses the cancels': writes({ advance: (write) => ({ ...write, cancels: [] }) }),
  'parking ignores what was not seen': writes({
    advance: (write, data) => ({
      ...write,
      to:
        write.to?.status === 'waiting'
          ? parkBlindly(write.to, data.row(write.runId)?.run.deliveries)
          : write.to,
    }),
  }),
  'a requested pause is forgotten': writes({
    advance(write, data) {
      patch(data, write.runId, () => ({ pauseRequested: false }))
      return write
    },
  }),
  'a cancel loses to the end of the run': writes({
    advance(write, data) {
      if (write.to?.status === 'completed') patch(data, write.runId, () => ({ cancelReason: null }))
      return write
    },
  }),
  'consumed items come back': writes({ advance: (write) => ({ ...write, consumed: [] }) }),
  'consumed items are forgotten': writes({
    after: (write, _, data) => {
      if (write.type === 'advance') data.row(write.runId)?.consumed.clear()
    },
  }),
  'deaths are never reset': writes({ advance: (write) => ({ ...write, progress: false }) }),
  'deaths are always reset': writes({ advance: (write) => ({ ...write, progress: true }) }),
  'a refused write takes the rest of the batch with it': (store) => ({
    ...store,
    async commit(batch, now) {
      const results = await store.commit(batch.slice(0, 1), now)
      if (results[0]?.status === 'fenced') return batch.map(() => ({ status: 'fenced' }))
      return batch.length > 1 ? [...results, ...(await this.commit(batch.slice(1), now))] : results
    },
  }),
  'a delivery is taken twice': writes({
    deliver(write, data) {
      data.row(write.runId)?.inbox.delete(write.item.id)
      data.row(write.runId)?.consumed.delete(write.item.id)
      return write
    },
  }),
  'a delivery does not wake the run': writes({
    after(write, _, data, before) {
      if (write.type === 'deliver') patch(data, write.runId, (run) => ({ dueAt: before?.dueAt ?? run.dueAt }))
      if (write.type === 'deliver' && before?.dueAt === null)
        patch(data, write.runId, () => ({ dueAt: null }))
    },
  }),
  'a delivery is not counted': writes({
    after(write, _, data, before) {
      if (write.type !== 'deliver' || before === undefined) return
      patch(data, write.runId, () => ({ deliveries: before.deliveries }))
    },
  }),
  'a key is not unique': writes({
    create: (write) => ({ ...write, run: { ...write.run, key: null } }),
    after(write, result, data) {
      if (write.type !== 'create' || result.status !== 'ok') return
      patch(data, write.run.id, () => ({ key: write.run.key }))
    },
  }),
  'create overwrites a run of the same id': writes({
    create(write, data) {
      const row = data.row(write.run.id)
      if (row !== undefined) data.remove(row)
      return write
    },
  }),
  'resume forgets what was delivered during the pause': writes({
    after(write, _, data, before) {
      if (write.type !== 'control' || write.action !== 'resume' || before === undefined) return
      patch(data, write.runId, () => ({ dueAt: before.dueAt }))
    },
  }),
  'revive stays in the old epoch': writes({
    after(write, result, data) {
      if (write.type !== 'control' || write.action !== 'revive' || result.status !== 'ok') return
      patch(data, write.runId, (run) => ({ epoch: run.epoch - 1 }))
    },
  }),
  'a second cancel replaces the first': writes({
    after(write, _, data) {
      if (write.type !== 'control' || write.action !== 'cancel') return
      patch(data, write.runId, () => ({ cancelReason: write.reason }))
    },
  }),
}

function parkBlindly(to: Extract<Transition, { status: 'waiting' }>, deliveries = 0): Transition {
  return { ...to, seen: deliveries }
}
