// Texts compare by their bytes ("C"), which is fast and the same on every machine. Runs have a short number beside their id, so that
// the rows of a journal are short too, and those of new runs lie together at the end of its index. The number
// has no index of its own: what looks for a run looks for its id.
export const tables = `
CREATE TABLE perdure_runs (
  number bigint GENERATED ALWAYS AS IDENTITY,
  priority bigint NOT NULL,
  due_at bigint,
  attempt bigint NOT NULL,
  epoch bigint NOT NULL,
  deaths bigint NOT NULL,
  fence bigint NOT NULL,
  deliveries bigint NOT NULL,
  seen bigint NOT NULL,
  timeout bigint,
  retention bigint NOT NULL,
  deadline bigint,
  created_at bigint NOT NULL,
  started_at bigint,
  ended_at bigint,
  expires_at bigint,
  pause_requested smallint NOT NULL,
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  workflow text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  queue text COLLATE "C" NOT NULL,
  key text COLLATE "C",
  tags text NOT NULL,
  status text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  cancel_reason text,
  paused_from text,
  parent_id text COLLATE "C",
  parent_step text,
  policy text NOT NULL,
  error text,
  output text,
  input text NOT NULL
) WITH (
  fillfactor = 85,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.05
);

CREATE UNIQUE INDEX perdure_runs_key ON perdure_runs (key, workflow) WHERE key IS NOT NULL;
CREATE INDEX perdure_runs_claim ON perdure_runs (workflow, version, queue, priority DESC, due_at, number)
  WHERE status IN ('pending', 'waiting') AND due_at IS NOT NULL;
CREATE INDEX perdure_runs_owner ON perdure_runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX perdure_runs_expires ON perdure_runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX perdure_runs_parent ON perdure_runs (parent_id, created_at, id) WHERE parent_id IS NOT NULL;
CREATE INDEX perdure_runs_created ON perdure_runs (created_at, id);
CREATE INDEX perdure_runs_status ON perdure_runs (status, created_at, id) WHERE status <> 'completed';

CREATE TABLE perdure_tags (
  created_at bigint NOT NULL,
  tag text COLLATE "C" NOT NULL,
  run_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (tag, created_at, run_id)
);

CREATE INDEX perdure_tags_run ON perdure_tags (run_id);

CREATE TABLE perdure_journal (
  run bigint NOT NULL,
  epoch bigint NOT NULL,
  position bigint,
  due_at bigint,
  started_at bigint NOT NULL,
  ended_at bigint,
  written bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  status text NOT NULL,
  target text,
  child_id text,
  value text,
  attempts text,
  PRIMARY KEY (run, key)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE perdure_inbox (
  run bigint NOT NULL,
  position bigint NOT NULL,
  at bigint NOT NULL,
  id text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  payload text,
  PRIMARY KEY (run, id)
) WITH (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0
);

-- Consumed items stay, to recognise a repeated delivery, but a long run must not pay for them at every look.
CREATE INDEX perdure_inbox_open ON perdure_inbox (run, position) WHERE payload IS NOT NULL;

-- Few rows, each renewed every few seconds: there is room to renew them in place.
CREATE TABLE perdure_workers (
  expires_at bigint NOT NULL,
  id text COLLATE "C" NOT NULL PRIMARY KEY
) WITH (
  fillfactor = 20, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0
);
`
