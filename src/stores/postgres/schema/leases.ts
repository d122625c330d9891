import { settings } from './settings.ts'

const heartbeat = `
CREATE FUNCTION perdure_heartbeat(worker text, lease bigint, register boolean, now bigint)
RETURNS TABLE (alive boolean, held jsonb) LANGUAGE plpgsql ${settings} AS $perdure$
BEGIN
  IF lease = 0 THEN
    DELETE FROM perdure_workers WHERE id = worker AND (register OR expires_at > now);
    alive := register OR FOUND;
    DELETE FROM perdure_workers WHERE id = worker;
  ELSIF register THEN
    INSERT INTO perdure_workers (id, expires_at) VALUES (worker, now + lease)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at;
    alive := true;
  ELSE
    UPDATE perdure_workers SET expires_at = now + lease WHERE id = worker AND expires_at > now;
    alive := FOUND;
  END IF;
  SELECT coalesce(jsonb_agg(jsonb_build_array(id, fence, deliveries)), '[]') INTO held FROM perdure_runs
  WHERE owner = worker;
  RETURN NEXT;
END
$perdure$;
`

// distances: how far apart runs that are reaped together come back, by how many workers they have lost already; the last
// one is for all beyond. A lease that is found to be over is ended for good, so that its worker cannot renew it while
// its runs are being taken.
const reap = `
CREATE FUNCTION perdure_reap(max bigint, distances bigint[], now bigint)
RETURNS SETOF text LANGUAGE plpgsql ${settings} AS $perdure$
DECLARE
  holder text;
  run record;
  freed bigint := 0;
BEGIN
  SELECT owner INTO holder FROM perdure_runs WHERE owner IS NOT NULL ORDER BY owner LIMIT 1;
  WHILE holder IS NOT NULL AND freed < max LOOP
    UPDATE perdure_workers SET expires_at = 0 WHERE id = holder AND expires_at <= now;
    IF NOT EXISTS (SELECT 1 FROM perdure_workers WHERE id = holder AND expires_at > now) THEN
      FOR run IN
        SELECT id, deaths FROM perdure_runs WHERE owner = holder LIMIT max - freed FOR UPDATE SKIP LOCKED
      LOOP
        UPDATE perdure_runs SET
          status = CASE pause_requested WHEN 1 THEN 'paused' ELSE 'pending' END,
          paused_from = CASE pause_requested WHEN 1 THEN 'pending' ELSE NULL END,
          pause_requested = 0, owner = NULL, attempt = attempt + 1, deaths = deaths + 1,
          due_at = now + freed * distances[least(run.deaths + 1, cardinality(distances))]
        WHERE id = run.id;
        freed := freed + 1;
        RETURN NEXT run.id;
      END LOOP;
    END IF;
    SELECT owner INTO holder FROM perdure_runs WHERE owner > holder ORDER BY owner LIMIT 1;
  END LOOP;
  DELETE FROM perdure_workers WHERE id IN (
    SELECT id FROM perdure_workers AS w WHERE expires_at <= now
      AND NOT EXISTS (SELECT 1 FROM perdure_runs WHERE owner = w.id)
    FOR UPDATE SKIP LOCKED);
END
$perdure$;
`

export const leases = [heartbeat, reap].join('\n')
