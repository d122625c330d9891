import pg from 'pg'

/** Counts, on a connection of its own, with one prepared statement. */
export async function counter(url, text) {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  return {
    client,
    count: async () => Number((await client.query({ name: 'count', text })).rows[0].count),
    close: () => client.end(),
  }
}
