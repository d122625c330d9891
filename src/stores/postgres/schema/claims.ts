import { settings } from './settings.ts'

// Due runs are found by walking one partial index, (workflow, version, queue, priority, due_at), with a few jumps: from
// queue to queue, from priority to priority, and at each the longest due first. So what is parked for later, ended,
// or of other workflows is never looked at. What another claim has locked is skipped.

const claimable = `FROM perdure_runs
      WHERE status IN ('pending', 'waiting') AND due_at IS NOT NULL AND workflow = lane.workflow
      AND version = lane.version`

/** The lanes in which a worker looks: its queues, or all queues that have something claimable, of each workflow. */
const lanes = `
CREATE FUNCTION perdure_lanes(workflows text[], versions text[], queues text[])
RETURNS TABLE (workflow text, version text, queue text) LANGUAGE plpgsql AS $perdure$
DECLARE
  lane record;
  next_queue text;
BEGIN
  FOR lane IN SELECT w AS workflow, v AS version FROM unnest(workflows, versions) AS u (w, v) LOOP
    IF queues IS NOT NULL THEN
      RETURN QUERY SELECT DISTINCT lane.workflow, lane.version, q FROM unnest(queues) AS q;
      CONTINUE;
    END IF;
    SELECT r.queue INTO next_queue FROM perdure_runs AS r
    WHERE r.status IN ('pending', 'waiting') AND r.due_at IS NOT NULL AND r.workflow = lane.workflow
      AND r.version = lane.version ORDER BY r.queue LIMIT 1;
    WHILE next_queue IS NOT NULL LOOP
      workflow := lane.workflow; version := lane.version; queue := next_queue;
      RETURN NEXT;
      SELECT r.queue INTO next_queue FROM perdure_runs AS r
      WHERE r.status IN ('pending', 'waiting') AND r.due_at IS NOT NULL AND r.workflow = lane.workflow
        AND r.version = lane.version AND r.queue > next_queue ORDER BY r.queue LIMIT 1;
    END LOOP;
  END LOOP;
END
$perdure$;
`

const claim = `
CREATE FUNCTION perdure_claim(worker text, workflows text[], versions text[], queues text[], max bigint, now bigint)
RETURNS SETOF perdure_runs LANGUAGE plpgsql ${settings} AS $perdure$
DECLARE
  lane record;
  level record;
  candidate record;
  room bigint;
  ids text[] := '{}';
  priorities bigint[] := '{}';
  due_times bigint[] := '{}';
  numbers bigint[] := '{}';
BEGIN
  FOR lane IN SELECT * FROM perdure_lanes(workflows, versions, queues) LOOP
    room := max;
    -- The first row of a priority is its longest due.
    SELECT priority, due_at INTO level ${claimable} AND queue = lane.queue ORDER BY priority DESC, due_at LIMIT 1;
    WHILE FOUND AND room > 0 LOOP
      IF level.due_at <= now THEN
        FOR candidate IN
          SELECT id, priority, due_at, number ${claimable} AND queue = lane.queue AND priority = level.priority
            AND due_at <= now ORDER BY due_at, number LIMIT room FOR UPDATE SKIP LOCKED
        LOOP
          ids := ids || candidate.id;
          priorities := priorities || candidate.priority;
          due_times := due_times || candidate.due_at;
          numbers := numbers || candidate.number;
          room := room - 1;
        END LOOP;
      END IF;
      SELECT priority, due_at INTO level ${claimable} AND queue = lane.queue AND priority < level.priority
      ORDER BY priority DESC, due_at LIMIT 1;
    END LOOP;
  END LOOP;
  IF cardinality(ids) = 0 THEN
    RETURN;
  END IF;
  RETURN QUERY
    WITH chosen AS (
      SELECT * FROM unnest(ids, priorities, due_times, numbers) AS c (id, priority, due_at, number)
      ORDER BY priority DESC, due_at, number LIMIT max
    ), taken AS (
      UPDATE perdure_runs AS r SET
        status = 'running', due_at = NULL, owner = worker, fence = r.fence + 1,
        started_at = coalesce(r.started_at, now),
        deadline = CASE WHEN r.started_at IS NULL AND r.timeout IS NOT NULL
          THEN least(now + r.timeout, 8640000000000000) ELSE r.deadline END
      FROM chosen WHERE r.id = chosen.id
      RETURNING r.*, chosen.priority AS chosen_priority, chosen.due_at AS chosen_due_at
    )
    SELECT t.number, t.priority, t.due_at, t.attempt, t.epoch, t.deaths, t.fence, t.deliveries, t.seen, t.timeout,
      t.retention, t.deadline, t.created_at, t.started_at, t.ended_at, t.expires_at, t.pause_requested, t.id,
      t.workflow, t.version, t.queue, t.key, t.tags, t.status, t.owner, t.cancel_reason, t.paused_from, t.parent_id,
      t.parent_step, t.policy, t.error, t.output, t.input
    FROM taken AS t ORDER BY t.chosen_priority DESC, t.chosen_due_at, t.number;
END
$perdure$;
`

const nextDue = `
CREATE FUNCTION perdure_next_due(workflows text[], versions text[], queues text[])
RETURNS bigint LANGUAGE plpgsql ${settings} AS $perdure$
DECLARE
  lane record;
  level record;
  earliest bigint;
BEGIN
  FOR lane IN SELECT * FROM perdure_lanes(workflows, versions, queues) LOOP
    SELECT priority, due_at INTO level ${claimable} AND queue = lane.queue ORDER BY priority DESC, due_at LIMIT 1;
    WHILE FOUND LOOP
      earliest := least(earliest, level.due_at);
      SELECT priority, due_at INTO level ${claimable} AND queue = lane.queue AND priority < level.priority
      ORDER BY priority DESC, due_at LIMIT 1;
    END LOOP;
  END LOOP;
  RETURN earliest;
END
$perdure$;
`

export const claims = [lanes, claim, nextDue].join('\n')
