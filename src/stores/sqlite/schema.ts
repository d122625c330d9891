import type { Migration } from '../sql/migrations.ts'

// A run's number is short and its journal's rows are appended, whichever run they are of: many runs that move on
// at once then share the pages that a commit must write. Keyed by the id, each would dirty a page of its own,
// which was measured at less than half the speed.
const initial = `
CREATE TABLE perdure_runs (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  workflow TEXT NOT NULL,
  version TEXT NOT NULL,
  queue TEXT NOT NULL,
  key TEXT,
  priority INTEGER NOT NULL,
  tags TEXT NOT NULL,
  status TEXT NOT NULL,
  due_at INTEGER,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  deaths INTEGER NOT NULL,
  owner TEXT,
  fence INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  cancel_reason TEXT,
  pause_requested INTEGER NOT NULL,
  paused_from TEXT,
  parent_id TEXT,
  parent_step TEXT,
  timeout INTEGER,
  retention INTEGER NOT NULL,
  deadline INTEGER,
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  expires_at INTEGER,
  policy TEXT NOT NULL,
  error TEXT,
  output TEXT,
  input TEXT NOT NULL
);

CREATE UNIQUE INDEX perdure_runs_key ON perdure_runs (key, workflow) WHERE key IS NOT NULL;
CREATE INDEX perdure_runs_claim ON perdure_runs (workflow, version, queue, priority DESC, due_at)
  WHERE status IN ('pending', 'waiting') AND due_at IS NOT NULL;
CREATE INDEX perdure_runs_owner ON perdure_runs (owner) WHERE owner IS NOT NULL;
CREATE INDEX perdure_runs_expires ON perdure_runs (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX perdure_runs_parent ON perdure_runs (parent_id, created_at, id) WHERE parent_id IS NOT NULL;
CREATE INDEX perdure_runs_created ON perdure_runs (created_at, id, workflow, queue);
CREATE INDEX perdure_runs_status ON perdure_runs (status, created_at, id, workflow, queue);

CREATE TABLE perdure_tags (
  tag TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (tag, created_at, run_id)
) WITHOUT ROWID;

CREATE TABLE perdure_journal (
  run INTEGER NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  target TEXT,
  child_id TEXT,
  epoch INTEGER NOT NULL,
  position INTEGER,
  value TEXT,
  attempts TEXT,
  due_at INTEGER,
  started_at INTEGER NOT NULL,
  ended_at INTEGER
);

CREATE UNIQUE INDEX perdure_journal_key ON perdure_journal (run, key);

CREATE TABLE perdure_inbox (
  run INTEGER NOT NULL,
  id TEXT NOT NULL,
  position INTEGER NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  payload TEXT,
  at INTEGER NOT NULL
);

CREATE UNIQUE INDEX perdure_inbox_id ON perdure_inbox (run, id);
CREATE INDEX perdure_inbox_open ON perdure_inbox (run, position) WHERE payload IS NOT NULL;

CREATE TABLE perdure_workers (
  id TEXT NOT NULL PRIMARY KEY,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;
`

const lateWrites = 'ALTER TABLE perdure_journal ADD COLUMN written INTEGER NOT NULL DEFAULT 0;'

/** All migrations of the SQLite store. Append only. */
export const migrations: readonly Migration[] = [
  { number: 1, name: 'initial', sql: initial },
  { number: 2, name: 'late writes replace nothing newer', sql: lateWrites },
]
