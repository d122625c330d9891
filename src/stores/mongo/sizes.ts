/** How large documents become. The server limits them to 16 MiB. */

export const MIB = 1024 * 1024

/** The most that one document may be filled with. The rest is for what is counted too low. */
export const MAX_DOCUMENT_BYTES = 15 * MIB

/** The most that a document of several parts is filled with, unless one part alone is larger. */
export const CHUNK_BYTES = 4 * MIB

/** More than this goes into documents of its own rather than into the run's. */
export const MAX_APPENDED_BYTES = 256 * 1024

/**
 * A run's document that holds more is relieved of its entries and its inbox. Every write to it costs the server
 * as much as the document is large, so step 5,000 costs no more than step 50.
 */
export const MOVE_BYTES = 64 * 1024

/** A run gets no more than this in one go. */
export const MAX_BATCH_BYTES = 4 * MIB
