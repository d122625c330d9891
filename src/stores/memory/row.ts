import type { Entry, InboxItem, RunRecord } from '../../core/run.ts'
import type { HeapItem } from './heap.ts'

/** A run with all that belongs to it. */
export interface Row extends HeapItem {
  /** Replaced, never changed in place: a record that was handed out stays what it was. */
  run: RunRecord
  readonly entries: Map<string, Entry>
  /** Which write an entry comes from, see `writeOrder`. */
  readonly written: Map<string, number>
  /** What is not consumed, in the order of delivery. */
  readonly inbox: Map<string, InboxItem>
  /** Ids of consumed items: their payload is gone, but a repeated delivery is still recognised. */
  readonly consumed: Set<string>
}
