// The writes one by one: what `perdure_commit` calls for each write that needs more than the plain path.

import { timePlus } from '../../sql/time.ts'
import { birthTypes, insertRuns } from './births.ts'
import { entryTypes, upsertEntries } from './entries.ts'

/** A run's row, as `birth` describes it. Answers with the run that holds the id or the key, if there is one. */
const create = `
CREATE FUNCTION perdure_create(birth jsonb) RETURNS perdure_result LANGUAGE plpgsql AS $perdure$
DECLARE
  created bigint;
  holder perdure_runs;
BEGIN
  LOOP${insertRuns(`jsonb_to_record(birth) AS b (${birthTypes})`)}
    RETURNING number INTO created;
    EXIT WHEN created IS NOT NULL;

    SELECT * INTO holder FROM perdure_runs WHERE id = birth->>'id';
    IF NOT FOUND THEN
      SELECT * INTO holder FROM perdure_runs WHERE key = birth->>'key' AND workflow = birth->>'workflow';
    END IF;
    IF FOUND THEN
      RETURN ROW('existing', NULL, NULL, to_jsonb(holder))::perdure_result;
    END IF;
    -- Whoever held the id or key was deleted a moment ago.
  END LOOP;

  IF birth ? 'tag_list' THEN
    INSERT INTO perdure_tags (tag, created_at, run_id)
    SELECT tag, (birth->>'created_at')::bigint, birth->>'id' FROM jsonb_array_elements_text(birth->'tag_list') AS tag
    ON CONFLICT DO NOTHING;
  END IF;
  IF birth ? 'entries' THEN
    ${upsertEntries('created', '0', `jsonb_to_recordset(birth->'entries') AS e (${entryTypes})`)}
  END IF;
  RETURN ROW('ok', birth->>'status', (birth->>'due_at')::bigint, NULL)::perdure_result;
END
$perdure$;
`

const deliver = `
CREATE FUNCTION perdure_deliver(item jsonb, now bigint) RETURNS perdure_result LANGUAGE plpgsql AS $perdure$
DECLARE
  target record;
  answer perdure_result;
BEGIN
  SELECT number, status, deliveries INTO target FROM perdure_runs WHERE id = item->>'run_id';
  IF NOT FOUND THEN
    RETURN ROW('missing', NULL, NULL, NULL)::perdure_result;
  END IF;
  -- Before the check for an ended run: whoever repeats a delivery learns that the first one arrived.
  PERFORM 1 FROM perdure_inbox WHERE run = target.number AND id = item->>'id';
  IF FOUND THEN
    RETURN ROW('duplicate', NULL, NULL, NULL)::perdure_result;
  END IF;
  -- A failed or cancelled run may be revived, and then wants to know what its children came to.
  IF target.status = 'completed' OR (target.status IN ('failed', 'cancelled') AND item->>'kind' <> 'child') THEN
    RETURN ROW('refused', target.status, NULL, NULL)::perdure_result;
  END IF;
  -- The count of deliveries only grows, so it also says in which order the items came.
  INSERT INTO perdure_inbox (run, position, at, id, kind, name, payload)
  VALUES (target.number, target.deliveries, (item->>'at')::bigint, item->>'id', item->>'kind', item->>'name',
    item->>'payload');
  UPDATE perdure_runs SET
    deliveries = deliveries + 1,
    due_at = CASE status WHEN 'waiting' THEN now ELSE due_at END
  WHERE id = item->>'run_id'
  RETURNING 'ok', status, due_at, NULL INTO answer;
  RETURN answer;
END
$perdure$;
`

const cancel = `
CREATE FUNCTION perdure_cancel(request jsonb, now bigint) RETURNS perdure_result LANGUAGE plpgsql AS $perdure$
DECLARE
  target record;
  answer perdure_result;
BEGIN
  SELECT status, due_at, fence, parent_id, cancel_reason INTO target FROM perdure_runs WHERE id = request->>'run_id';
  IF NOT FOUND THEN
    RETURN ROW('missing', NULL, NULL, NULL)::perdure_result;
  END IF;
  IF target.status IN ('completed', 'failed') THEN
    RETURN ROW('refused', target.status, NULL, NULL)::perdure_result;
  END IF;
  IF target.status = 'cancelled' OR (target.cancel_reason IS NOT NULL AND target.status <> 'paused') THEN
    RETURN ROW('ok', target.status, target.due_at, NULL)::perdure_result;
  END IF;
  IF target.fence = 0 AND target.parent_id IS NULL THEN
    -- A run that never started has nothing to clean up, and without a parent nobody to tell.
    UPDATE perdure_runs SET
      status = 'cancelled', cancel_reason = request->>'reason', error = request->>'error', due_at = NULL,
      paused_from = NULL, ended_at = now, expires_at = ${timePlus('now', 'retention', 'least')}
    WHERE id = request->>'run_id'
    RETURNING 'ok', status, due_at, NULL INTO answer;
  ELSE
    UPDATE perdure_runs SET
      cancel_reason = coalesce(cancel_reason, request->>'reason'), deliveries = deliveries + 1, pause_requested = 0,
      paused_from = NULL,
      due_at = CASE status WHEN 'running' THEN due_at ELSE now END,
      status = CASE status WHEN 'running' THEN status ELSE 'pending' END
    WHERE id = request->>'run_id'
    RETURNING 'ok', status, due_at, NULL INTO answer;
  END IF;
  RETURN answer;
END
$perdure$;
`

const control = `
CREATE FUNCTION perdure_control(request jsonb, now bigint) RETURNS perdure_result LANGUAGE plpgsql AS $perdure$
DECLARE
  target text := request->>'run_id';
  found_status text;
  may_resume boolean;
  answer perdure_result;
BEGIN
  IF request->>'action' = 'cancel' THEN
    RETURN perdure_cancel(request, now);
  END IF;
  SELECT status, status = 'paused' OR (status = 'running' AND pause_requested = 1) INTO found_status, may_resume
  FROM perdure_runs WHERE id = target;
  IF NOT FOUND THEN
    RETURN ROW('missing', NULL, NULL, NULL)::perdure_result;
  END IF;
  IF NOT (CASE request->>'action'
    WHEN 'pause' THEN found_status IN ('pending', 'waiting', 'running', 'paused')
    WHEN 'resume' THEN may_resume
    WHEN 'revive' THEN found_status IN ('failed', 'cancelled')
    WHEN 'wake' THEN found_status IN ('pending', 'waiting')
    WHEN 'delete' THEN found_status IN ('completed', 'failed', 'cancelled')
  END) THEN
    RETURN ROW('refused', found_status, NULL, NULL)::perdure_result;
  END IF;
  CASE request->>'action'
  WHEN 'pause' THEN
    -- A running run's raised count keeps it from parking before it has noticed.
    UPDATE perdure_runs SET
      deliveries = deliveries + (CASE WHEN status = 'running' AND pause_requested = 0 THEN 1 ELSE 0 END),
      pause_requested = (CASE WHEN status = 'running' THEN 1 ELSE 0 END),
      paused_from = CASE WHEN status IN ('pending', 'waiting') THEN status ELSE paused_from END,
      status = CASE WHEN status IN ('pending', 'waiting') THEN 'paused' ELSE status END
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  WHEN 'resume' THEN
    UPDATE perdure_runs SET
      due_at = CASE WHEN paused_from = 'waiting' AND deliveries > seen THEN now ELSE due_at END,
      error = CASE paused_from WHEN 'waiting' THEN NULL ELSE error END,
      status = coalesce(paused_from, status),
      paused_from = NULL,
      pause_requested = 0
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  WHEN 'revive' THEN
    UPDATE perdure_runs SET
      status = 'pending', due_at = now, attempt = 1, epoch = epoch + 1, deaths = 0, error = NULL, output = NULL,
      cancel_reason = NULL, started_at = NULL, deadline = NULL, ended_at = NULL, expires_at = NULL
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  WHEN 'wake' THEN
    UPDATE perdure_runs SET due_at = now WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  WHEN 'delete' THEN
    PERFORM perdure_delete(ARRAY[target]);
    answer := ROW('ok', NULL, NULL, NULL)::perdure_result;
  END CASE;
  RETURN answer;
END
$perdure$;

-- Deletes runs with all that belongs to them.
CREATE FUNCTION perdure_delete(ids text[]) RETURNS bigint LANGUAGE plpgsql AS $perdure$
DECLARE
  run record;
  deleted bigint := 0;
BEGIN
  FOR run IN DELETE FROM perdure_runs WHERE id = ANY (ids) RETURNING number, id, tags LOOP
    DELETE FROM perdure_journal WHERE perdure_journal.run = run.number;
    DELETE FROM perdure_inbox WHERE perdure_inbox.run = run.number;
    IF run.tags <> '[]' THEN
      DELETE FROM perdure_tags WHERE run_id = run.id;
    END IF;
    deleted := deleted + 1;
  END LOOP;
  RETURN deleted;
END
$perdure$;
`

const advance = `
CREATE FUNCTION perdure_advance(write jsonb, now bigint) RETURNS perdure_result LANGUAGE plpgsql AS $perdure$
DECLARE
  target text := write->>'run_id';
  claim record;
  cancelling boolean;
  next jsonb := write->'next';
  item jsonb;
  answer perdure_result;
BEGIN
  SELECT number, status, owner, fence, deaths, cancel_reason IS NOT NULL AS cancelling INTO claim FROM perdure_runs
  WHERE id = target;
  IF NOT FOUND OR claim.status <> 'running' OR claim.owner <> write->>'worker'
    OR claim.fence <> (write->>'fence')::bigint
  THEN
    RETURN ROW('fenced', NULL, NULL, NULL)::perdure_result;
  END IF;
  IF write ? 'entries' THEN
    ${upsertEntries('claim.number', "(write->>'written')::bigint", `jsonb_to_recordset(write->'entries') AS e (${entryTypes})`)}
    -- The run's row is left alone while the run goes on, unless there is something to forgive.
    IF claim.deaths > 0 AND write ? 'progress' THEN
      UPDATE perdure_runs SET deaths = 0 WHERE id = target;
    END IF;
  END IF;
  IF write ? 'consumed' THEN
    UPDATE perdure_inbox SET payload = NULL
    WHERE perdure_inbox.run = claim.number
      AND id = ANY (ARRAY(SELECT jsonb_array_elements_text(write->'consumed')));
  END IF;
  IF write ? 'children' THEN
    FOR item IN SELECT jsonb_array_elements(write->'children') LOOP
      PERFORM perdure_create(item);
    END LOOP;
  END IF;
  cancelling := claim.cancelling;
  IF write ? 'cancels' THEN
    FOR item IN SELECT jsonb_array_elements(write->'cancels') LOOP
      PERFORM perdure_cancel(item, now);
      cancelling := cancelling OR item->>'run_id' = target;
    END LOOP;
  END IF;
  -- An accepted cancel wins over any other end.
  cancelling := cancelling AND next->>'status' IN ('completed', 'failed');
  IF cancelling THEN
    next := jsonb_build_object('status', 'cancelled', 'error', next->>'cancelled');
    item := write->'deliveries_if_cancelled';
  ELSE
    item := write->'deliveries';
  END IF;
  IF item IS NOT NULL THEN
    FOR item IN SELECT jsonb_array_elements(item) LOOP
      PERFORM perdure_deliver(item, now);
    END LOOP;
  END IF;
  IF next IS NULL THEN
    RETURN ROW('ok', 'running', NULL, NULL)::perdure_result;
  END IF;
  -- The transition comes last, so that it counts what this write delivered to its own run.
  CASE next->>'status'
  WHEN 'waiting' THEN
    -- A delivery that the execution has not looked at would otherwise never wake the run.
    UPDATE perdure_runs SET
      status = CASE pause_requested WHEN 1 THEN 'paused' ELSE 'waiting' END,
      paused_from = CASE pause_requested WHEN 1 THEN 'waiting' ELSE NULL END,
      due_at = CASE WHEN deliveries > (next->>'seen')::bigint THEN now ELSE (next->>'due_at')::bigint END,
      pause_requested = 0, owner = NULL, seen = (next->>'seen')::bigint
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  WHEN 'pending' THEN
    -- A cancel that was accepted meanwhile does not wait for the retry.
    UPDATE perdure_runs SET
      status = CASE pause_requested WHEN 1 THEN 'paused' ELSE 'pending' END,
      paused_from = CASE pause_requested WHEN 1 THEN 'pending' ELSE NULL END,
      due_at = CASE WHEN cancel_reason IS NULL THEN (next->>'due_at')::bigint ELSE now END,
      pause_requested = 0, owner = NULL, seen = (next->>'seen')::bigint, attempt = (next->>'attempt')::bigint,
      epoch = (next->>'epoch')::bigint, error = next->>'error'
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  WHEN 'paused' THEN
    -- A run whose cancel was accepted is left due instead, to end.
    UPDATE perdure_runs SET
      status = CASE WHEN cancel_reason IS NULL THEN 'paused' ELSE 'waiting' END,
      paused_from = CASE WHEN cancel_reason IS NULL THEN 'waiting' ELSE NULL END,
      error = CASE WHEN cancel_reason IS NULL THEN next->>'error' ELSE error END,
      pause_requested = 0, owner = NULL, due_at = now, seen = (next->>'seen')::bigint
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  ELSE
    UPDATE perdure_runs SET
      status = next->>'status', output = next->>'output', error = next->>'error', due_at = NULL, owner = NULL,
      pause_requested = 0, ended_at = now, expires_at = ${timePlus('now', 'retention', 'least')}
    WHERE id = target
    RETURNING 'ok', status, due_at, NULL INTO answer;
  END CASE;
  RETURN answer;
END
$perdure$;
`

const apply = `
CREATE FUNCTION perdure_apply(write jsonb, now bigint) RETURNS perdure_result LANGUAGE plpgsql AS $perdure$
BEGIN
  CASE write->>'type'
  WHEN 'advance' THEN RETURN perdure_advance(write, now);
  WHEN 'create' THEN RETURN perdure_create(write->'birth');
  WHEN 'deliver' THEN RETURN perdure_deliver(write, now);
  WHEN 'control' THEN RETURN perdure_control(write, now);
  END CASE;
END
$perdure$;
`

export const writes = [
  'CREATE TYPE perdure_result AS (answer text, run_status text, run_due_at bigint, run jsonb);',
  ...[create, deliver, cancel, control, advance, apply],
].join('\n')
