-- Schedules that somebody else's tuner wrote, with what it measured: a search tries them first. Nothing here was measured by Lathe, so nothing
-- here is ever an answer to "what is best".
CREATE TABLE foreign_trace (
  id INTEGER PRIMARY KEY,
  workload_id INTEGER NOT NULL REFERENCES workload,
  trace_id INTEGER NOT NULL REFERENCES trace,
  source TEXT NOT NULL,     -- Whose tuner: "tvm".
  target TEXT NOT NULL,     -- In its words.
  median_ns REAL,           -- As it measured; NULL: it did not.
  added_unix_ns INTEGER NOT NULL,
  UNIQUE (workload_id, trace_id, source, target)
) STRICT;
