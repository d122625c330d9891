import { groups, machine, median } from '../figures.mjs'

const NAMES = {
  'store-sqlite': 'Perdure, `store` on SQLite (FULL)',
  'store-postgres': 'Perdure, `store` on PostgreSQL (fsync)',
  'store-mongo': 'Perdure, `store` on MongoDB',
  redis: 'Perdure, `redis`',
  bullmq: 'plain BullMQ',
}

/** The verdicts as a table: medians over the repetitions for speed, sums for what must not happen. */
export function jobsReport(results, { jobs, workers, redis }) {
  const lines = [
    machine(),
    `${jobs} jobs, enqueued one by one, 50 in flight; ${workers} workers of 50 jobs at a time${redis ? `; ${redis}` : ''}`,
    '',
    '| transport | workers killed | accepted/s | done/s | lost | not completed | executed again |',
    '|---|---|---|---|---|---|---|',
  ]
  for (const group of groups(results, ({ name, kills }) => `${name} ${kills}`)) {
    const speed = (pick) => Math.round(median(group.map(pick))).toLocaleString('en')
    const sum = (pick) => group.map(pick).reduce((a, b) => a + b, 0)
    lines.push(
      `| ${[
        NAMES[group[0].name] ?? group[0].name,
        sum(({ kills }) => kills),
        speed(({ acceptedPerSecond }) => acceptedPerSecond),
        speed(({ donePerSecond }) => donePerSecond),
        sum(({ lost }) => lost),
        sum(({ unfinished }) => unfinished),
        sum(({ repeated }) => repeated),
      ].join(' | ')} |`,
    )
  }
  return lines.join('\n')
}
