import type { Hint, Notifier } from '../ports/notifier.ts'
import type { Store } from '../ports/store.ts'

type Listener = (hints: readonly Hint[]) => void

/** Engines of this process that share a store hear of each other. */
const listeners = new WeakMap<Store, Set<Listener>>()

/** Carries hints between the engines of this process that use the same store object. */
export function localNotifier(store: Store): Notifier {
  const all = listeners.get(store) ?? new Set<Listener>()
  listeners.set(store, all)
  const own = new Set<Listener>()
  return {
    publish: (hints) => {
      for (const listener of all) listener(hints)
    },
    subscribe: (listener) => {
      all.add(listener)
      own.add(listener)
      return () => {
        all.delete(listener)
        own.delete(listener)
      }
    },
    close: async () => {
      for (const listener of own) all.delete(listener)
    },
  }
}
