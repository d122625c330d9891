/** How new runs come out of JSON and into their table. */

/** The members of a birth, as a column definition list. What is not among them starts the same for every run. */
export const birthTypes = `id text, workflow text, version text, queue text, key text, priority bigint,
      tags text, status text, due_at bigint, owner text, fence bigint, input text, parent_id text, parent_step text,
      policy text, timeout bigint, retention bigint, deadline bigint, created_at bigint, started_at bigint`

/** The statement that inserts the runs of `source`, a record set called `b`, unless their id or key is taken. */
export function insertRuns(source: string): string {
  return `
    INSERT INTO perdure_runs (id, workflow, version, queue, key, priority, tags, status, due_at, attempt, epoch, deaths,
      owner, fence, deliveries, seen, pause_requested, input, parent_id, parent_step, policy, timeout, retention,
      deadline, created_at, started_at)
    SELECT b.id, b.workflow, b.version, b.queue, b.key, b.priority, b.tags, b.status, b.due_at, 1, 1, 0,
      b.owner, b.fence, 0, 0, 0, b.input, b.parent_id, b.parent_step, b.policy, b.timeout, b.retention,
      b.deadline, b.created_at, b.started_at
    FROM ${source}
    ON CONFLICT DO NOTHING`
}
