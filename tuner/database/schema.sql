-- Schema of the tuning database, version 1. What each table promises is in docs/formats/database.md.
-- Later versions are further steps in migrations.cc; this text never changes once released (its checksum is stored).
-- Times are Unix nanoseconds (*_unix_ns), durations nanoseconds (*_ns), digests 32 raw bytes, states the names of
-- tuner/job/trial_state.h.

CREATE TABLE meta (
  store_id BLOB NOT NULL CHECK (length(store_id) = 16),  -- Random; makes result keys of two databases differ.
  created_unix_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE migration (
  version INTEGER PRIMARY KEY,
  checksum BLOB NOT NULL,
  applied_unix_ns INTEGER NOT NULL
) STRICT;

-- What is computed, on what, and how.

CREATE TABLE workload (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  added_unix_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE target (
  id INTEGER PRIMARY KEY,
  canonical TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE tuning_key (
  id INTEGER PRIMARY KEY,
  workload_id INTEGER NOT NULL REFERENCES workload,
  target_id INTEGER NOT NULL REFERENCES target,
  device_class TEXT NOT NULL,
  cache_regime TEXT NOT NULL,
  codegen_version INTEGER NOT NULL,  -- LLVM's major version * 1000000 + revision.
  policy_version INTEGER NOT NULL,
  UNIQUE (workload_id, target_id, device_class, cache_regime, codegen_version, policy_version)
) STRICT;

CREATE TABLE trace (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  json TEXT NOT NULL
) STRICT;

CREATE TABLE environment (
  id INTEGER PRIMARY KEY,
  digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
  facts TEXT NOT NULL
) STRICT;

CREATE TABLE blob (
  digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
  size_bytes INTEGER NOT NULL CHECK (size_bytes >= 0),
  kind TEXT NOT NULL,
  refs INTEGER NOT NULL CHECK (refs >= 0),
  last_used_unix_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX blob_unreferenced ON blob (last_used_unix_ns) WHERE refs = 0;

-- Who may use which device, until when.

CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  device_class TEXT NOT NULL,
  facts TEXT NOT NULL,
  epoch INTEGER NOT NULL CHECK (epoch >= 0),
  registered_unix_ns INTEGER NOT NULL,
  last_seen_unix_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE lease (
  id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device,
  epoch INTEGER NOT NULL,
  holder TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('GRANTED', 'RELEASED', 'EXPIRED', 'REVOKED')),
  granted_unix_ns INTEGER NOT NULL,
  expires_unix_ns INTEGER NOT NULL,
  UNIQUE (device_id, epoch)
) STRICT;
CREATE UNIQUE INDEX lease_granted ON lease (device_id) WHERE state = 'GRANTED';

-- What was asked for, and how far it is.

CREATE TABLE job (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  request_id TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  spec TEXT NOT NULL,
  content_digest BLOB NOT NULL CHECK (length(content_digest) = 32),  -- Of spec and tasks: is a repeated request the same?
  state TEXT NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
  detail TEXT NOT NULL,
  created_unix_ns INTEGER NOT NULL,
  updated_unix_ns INTEGER NOT NULL
) STRICT;

CREATE TABLE task (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  job_id INTEGER NOT NULL REFERENCES job,
  position INTEGER NOT NULL,
  key_id INTEGER NOT NULL REFERENCES tuning_key,
  name TEXT NOT NULL,
  weight INTEGER NOT NULL,
  trial_budget INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('QUEUED', 'RUNNING', 'DONE', 'FAILED', 'CANCELLED')),
  UNIQUE (job_id, position)
) STRICT;

CREATE TABLE trial (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id INTEGER NOT NULL REFERENCES task,
  trace_id INTEGER NOT NULL REFERENCES trace,
  predicted_score REAL,
  seed INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempt INTEGER NOT NULL,         -- Raised by each claim; the fence of whatever the claimer reports.
  infra_failures INTEGER NOT NULL,
  noisy_runs INTEGER NOT NULL,
  not_before_unix_ns INTEGER NOT NULL,
  worker TEXT,                      -- Holder while BUILDING.
  slot INTEGER,
  device_id INTEGER REFERENCES device,  -- Holder while ASSIGNED or RUNNING.
  epoch INTEGER,
  module_digest BLOB,
  error TEXT NOT NULL,
  updated_unix_ns INTEGER NOT NULL,
  UNIQUE (task_id, trace_id)
) STRICT;
CREATE INDEX trial_to_build ON trial (id) WHERE state = 'BUILD_QUEUED';
CREATE INDEX trial_to_measure ON trial (id) WHERE state = 'MEAS_QUEUED';
CREATE INDEX trial_on_worker ON trial (worker) WHERE worker IS NOT NULL;
CREATE INDEX trial_on_device ON trial (device_id, epoch) WHERE device_id IS NOT NULL;
CREATE INDEX trial_by_module ON trial (module_digest) WHERE module_digest IS NOT NULL;
CREATE INDEX trial_by_task ON trial (task_id, state);

CREATE TABLE device_loss (
  module_digest BLOB NOT NULL,
  device_id INTEGER NOT NULL REFERENCES device,
  lost_unix_ns INTEGER NOT NULL,
  PRIMARY KEY (module_digest, device_id)
) STRICT, WITHOUT ROWID;

-- What was learned. Rows of `record` are never changed.

CREATE TABLE record (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  result_key BLOB NOT NULL UNIQUE CHECK (length(result_key) = 32),
  key_id INTEGER NOT NULL REFERENCES tuning_key,
  trace_id INTEGER NOT NULL REFERENCES trace,
  trial_id INTEGER REFERENCES trial,  -- NULL: imported.
  attempt INTEGER NOT NULL,
  device TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  module_digest BLOB,
  status TEXT NOT NULL,
  late INTEGER NOT NULL CHECK (late IN (0, 1)),
  median_ns REAL, min_ns REAL, p90_ns REAL, mad_ns REAL, ci_low_ns REAL, ci_high_ns REAL,
  runs INTEGER NOT NULL,
  samples_ns BLOB,                    -- Little-endian float64.
  environment_id INTEGER NOT NULL REFERENCES environment,
  seed INTEGER NOT NULL,
  error TEXT NOT NULL,
  committed_unix_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX record_by_key ON record (key_id, trace_id);
CREATE INDEX record_by_trial ON record (trial_id);

CREATE TABLE best (
  key_id INTEGER PRIMARY KEY REFERENCES tuning_key,
  record_id INTEGER NOT NULL REFERENCES record,
  status TEXT NOT NULL,
  median_ns REAL NOT NULL
) STRICT;

CREATE TABLE event (
  cursor INTEGER PRIMARY KEY AUTOINCREMENT,
  at_unix_ns INTEGER NOT NULL,
  kind TEXT NOT NULL,
  job_id INTEGER,
  subject_id INTEGER NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX event_by_job ON event (job_id, cursor);
