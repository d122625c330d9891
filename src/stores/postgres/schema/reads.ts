import { settings } from './settings.ts'

// One statement, so that run, inbox and entries are of one moment.
const read = `
CREATE FUNCTION perdure_read(ids text[], with_entries boolean)
RETURNS TABLE (run json, inbox json, entries json) LANGUAGE plpgsql STABLE ${settings} AS $perdure$
BEGIN
  RETURN QUERY
    SELECT to_json(r),
      (SELECT json_agg(to_json(i) ORDER BY i.position) FROM perdure_inbox AS i
        WHERE i.run = r.number AND i.payload IS NOT NULL),
      CASE WHEN with_entries THEN
        (SELECT json_agg(to_json(j)) FROM perdure_journal AS j WHERE j.run = r.number)
      END
    FROM perdure_runs AS r WHERE r.id = ANY (ids);
END
$perdure$;
`

const prune = `
CREATE FUNCTION perdure_prune(max bigint, now bigint)
RETURNS bigint LANGUAGE plpgsql ${settings} AS $perdure$
BEGIN
  RETURN perdure_delete(ARRAY(
    SELECT id FROM perdure_runs WHERE expires_at <= now ORDER BY expires_at LIMIT max FOR UPDATE SKIP LOCKED));
END
$perdure$;
`

export const reads = [read, prune].join('\n')
