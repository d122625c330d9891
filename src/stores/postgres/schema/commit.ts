// One call of perdure_commit applies a whole batch: one round trip, one statement, one transaction. The plans of the
// statements inside are kept by the server for each connection, also behind a pooler that knows no prepared
// statements.
//
// The many writes that concern nothing but their own run are applied together, in a few statements for all of them;
// whoever calls guarantees that no other write of the batch concerns the same runs or keys. All others are applied one
// by one, in order.
//
// All existing runs that the batch touches are locked first, in the order of their ids, so that two batches never
// wait for each other in a circle. Nothing else waits for a lock on a run: claims, reaping and pruning skip what is
// locked.

import { timePlus } from '../../sql/time.ts'
import { birthTypes, insertRuns } from './births.ts'
import { entryTypes, upsertEntries } from './entries.ts'
import { settings } from './settings.ts'

// Answers for those only whose id or key is taken.
const createPlain = `
CREATE FUNCTION perdure_create_plain(births json)
RETURNS TABLE (place bigint, answer perdure_result) LANGUAGE plpgsql AS $perdure$
DECLARE
  created text[];
  birth json;
BEGIN
  WITH inserted AS (${insertRuns(`json_to_recordset(births) AS b (${birthTypes})`)}
    RETURNING id
  ) SELECT array_agg(id) INTO created FROM inserted;
  IF cardinality(created) = json_array_length(births) THEN
    RETURN;
  END IF;
  FOR birth IN SELECT json_array_elements(births) LOOP
    CONTINUE WHEN birth->>'id' = ANY (created);
    place := birth->>'place';
    answer := perdure_create(birth::jsonb);
    RETURN NEXT;
  END LOOP;
END
$perdure$;
`

const advanceTypes = `place bigint, run_id text, worker text, fence bigint, written bigint, progress boolean,
      status text, due_at bigint, seen bigint, output text, error text, cancelled text`

const numberedAdvances = `ROWS FROM (json_to_recordset(advances) AS (${advanceTypes}))
    WITH ORDINALITY AS a (${advanceTypes.replaceAll(/ (text|bigint|boolean)\b/g, '')}, n)`

// Runs are looked up by their id alone: a further condition in the statement could tempt the planner to another index.
//
// Entries name their write by its number in the list, from 1. Answers for those only which are fenced, or whose run is not
// in the state that the write meant for it.
const advancePlain = `
CREATE FUNCTION perdure_advance_plain(advances json, entries json, now bigint)
RETURNS TABLE (place bigint, answer perdure_result) LANGUAGE plpgsql AS $perdure$
DECLARE
  places bigint[];
  numbers bigint[];
  forgivable boolean;
BEGIN
  SELECT array_agg(a.place ORDER BY a.n),
    array_agg(CASE WHEN r.fence = a.fence AND r.owner = a.worker AND r.status = 'running' THEN r.number END ORDER BY a.n),
    coalesce(bool_or(r.deaths > 0 AND a.progress), false)
  INTO places, numbers, forgivable
  FROM ${numberedAdvances}
  LEFT JOIN perdure_runs AS r ON r.id = a.run_id;

  IF array_position(numbers, NULL) IS NOT NULL THEN
    RETURN QUERY SELECT u.place, ROW('fenced', NULL, NULL, NULL)::perdure_result
    FROM unnest(places, numbers) AS u (place, number) WHERE u.number IS NULL;
  END IF;
  IF entries IS NOT NULL THEN
    ${upsertEntries(
      'numbers[e.write]',
      'e.written',
      `json_to_recordset(entries) AS e (write bigint, written bigint, ${entryTypes})
      WHERE numbers[e.write] IS NOT NULL`,
    )}
  END IF;
  IF forgivable THEN
    UPDATE perdure_runs AS r SET deaths = 0
    FROM ${numberedAdvances}
    WHERE a.progress AND numbers[a.n] IS NOT NULL AND r.id = a.run_id;
  END IF;
  RETURN QUERY
    WITH moved AS (
      UPDATE perdure_runs AS r SET
        status = CASE
          WHEN a.status = 'waiting' THEN CASE r.pause_requested WHEN 1 THEN 'paused' ELSE 'waiting' END
          WHEN r.cancel_reason IS NULL THEN a.status
          ELSE 'cancelled' END,
        paused_from = CASE WHEN a.status = 'waiting' AND r.pause_requested = 1 THEN 'waiting' END,
        -- A delivery that the execution has not looked at would otherwise never wake the run.
        due_at = CASE WHEN a.status = 'waiting' AND r.deliveries > a.seen THEN now ELSE a.due_at END,
        seen = coalesce(a.seen, r.seen),
        -- An accepted cancel wins over any other end.
        output = CASE WHEN r.cancel_reason IS NULL THEN a.output END,
        error = CASE WHEN a.status = 'waiting' THEN r.error
          WHEN r.cancel_reason IS NULL OR a.status = 'cancelled' THEN a.error
          ELSE a.cancelled END,
        pause_requested = 0, owner = NULL,
        ended_at = CASE WHEN a.status <> 'waiting' THEN now END,
        expires_at = CASE WHEN a.status <> 'waiting' THEN ${timePlus('now', 'r.retention', 'least')} END
      FROM ${numberedAdvances}
      WHERE a.status IS NOT NULL AND numbers[a.n] IS NOT NULL AND r.id = a.run_id
      RETURNING a.place, a.status AS meant, a.due_at AS meant_due, r.status, r.due_at
    )
    SELECT m.place, ROW('ok', m.status, m.due_at, NULL)::perdure_result FROM moved AS m
    WHERE m.status <> m.meant OR m.due_at IS DISTINCT FROM m.meant_due;
END
$perdure$;
`

// one_by_one: an error that a single write is to blame for undoes and condemns that write only. It costs a
// subtransaction for each, and is asked for only after a batch has failed as a whole.
const applyOthers = `
CREATE FUNCTION perdure_apply_others(writes jsonb, one_by_one boolean, now bigint)
RETURNS TABLE (place bigint, answer perdure_result) LANGUAGE plpgsql AS $perdure$
DECLARE
  write jsonb;
BEGIN
  FOR write IN SELECT jsonb_array_elements(writes) LOOP
    place := write->>'place';
    IF one_by_one THEN
      BEGIN
        answer := perdure_apply(write, now);
      EXCEPTION WHEN data_exception OR program_limit_exceeded OR integrity_constraint_violation THEN
        answer := ROW('error', SQLERRM, NULL, NULL)::perdure_result;
      END;
    ELSE
      answer := perdure_apply(write, now);
    END IF;
    RETURN NEXT;
  END LOOP;
END
$perdure$;
`

const commitAll = `
CREATE FUNCTION perdure_commit(births json, advances json, entries json, others jsonb, touched text[],
  one_by_one boolean, now bigint)
RETURNS TABLE (place bigint, answer text, run_status text, run_due_at bigint, run jsonb)
LANGUAGE plpgsql ${settings} AS $perdure$
BEGIN
  IF cardinality(touched) > 0 THEN
    PERFORM 1 FROM perdure_runs WHERE id = ANY (touched) ORDER BY id FOR NO KEY UPDATE;
  END IF;
  IF births IS NOT NULL THEN
    RETURN QUERY SELECT p.place, (p.answer).* FROM perdure_create_plain(births) AS p;
  END IF;
  IF advances IS NOT NULL THEN
    RETURN QUERY SELECT p.place, (p.answer).* FROM perdure_advance_plain(advances, entries, now) AS p;
  END IF;
  IF others IS NOT NULL THEN
    RETURN QUERY SELECT p.place, (p.answer).* FROM perdure_apply_others(others, one_by_one, now) AS p;
  END IF;
END
$perdure$;
`

export const commit = [createPlain, advancePlain, applyOthers, commitAll].join('\n')
