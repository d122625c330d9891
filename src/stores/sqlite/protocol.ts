/** What the main thread and the store's thread say to each other. Plain data on both sides. */
import type { StoreFailure } from '../../core/errors.ts'
import type { Store } from '../../ports/store.ts'
import type { PackedJournals, PackedResults, PackedWrites } from './packing.ts'

/** What the thread carries out: the methods of the store. */
interface Methods extends Omit<Store, 'name' | 'clock' | 'notifier' | 'commit' | 'journal'> {
  commit(writes: PackedWrites, now: number): Promise<PackedResults>
  journal(...args: Parameters<Store['journal']>): Promise<PackedJournals>
}

/** The name of a method. */
export type Method = keyof Methods

/** The arguments of a method. */
export type Arguments<M extends Method> = Parameters<Methods[M]>

/** What a method's promise resolves with. */
export type Result<M extends Method> = Awaited<ReturnType<Methods[M]>>

/** One call. `id` is unique among the calls that a thread gets. */
export interface Request<M extends Method = Method> {
  readonly id: number
  readonly method: M
  readonly args: Arguments<M>
}

/** The answer to the request of the same id. */
export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly failure: Failure }

/** A `StoreError` on its way between threads, where an error would lose its class and its fields. */
export interface Failure {
  readonly failure: StoreFailure
  readonly message: string
  readonly cause: string
}
