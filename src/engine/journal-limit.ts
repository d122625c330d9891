import { JournalLimitError } from '../core/errors.ts'
import type { EngineConfig } from './config.ts'

/** The error of a run that asks for more than its journal may hold. */
export function journalFull({
  maxJournalEntries,
}: Pick<EngineConfig, 'maxJournalEntries'>): JournalLimitError {
  return new JournalLimitError(
    `The run has ${maxJournalEntries} journal entries, the limit. Split the work into child runs, or raise ` +
      '`maxJournalEntries`.',
  )
}
