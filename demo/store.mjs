// Where the runs live: the one place of the demo that knows which store it is.

import { sqlite } from 'perdure/sqlite'

/**
 * Opens the store at `location`, the path of an SQLite file. Every process of the demo calls it: the starter and
 * all workers share the file and nothing else.
 *
 * @param {string} location
 */
export function openStore(location) {
  return sqlite(location)
}
