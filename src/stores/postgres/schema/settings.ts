/**
 * What every function that is called from outside runs with: its own tables whatever the search path is, no wait
 * for a lock without end, and the plan that is right at any size, because it never depends on statistics.
 */
export const settings = `
  SET search_path FROM CURRENT
  SET lock_timeout = '5s'
  SET plan_cache_mode = 'force_generic_plan'
  SET enable_seqscan = off
  SET enable_bitmapscan = off
  SET enable_hashjoin = off
  SET enable_mergejoin = off
  SET jit = off`
