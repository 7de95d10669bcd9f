-- What builds asked for and did not get: a workload for a target, one row however often. Bounded; it refers to no other table, for it is no work yet.
CREATE TABLE asked (
  id INTEGER PRIMARY KEY,
  workload BLOB NOT NULL CHECK (length(workload) = 32),  -- Digest of `text`.
  target TEXT NOT NULL,
  name TEXT NOT NULL,
  text TEXT NOT NULL,
  network TEXT NOT NULL,                     -- Of the last one that asked.
  weight INTEGER NOT NULL CHECK (weight > 0),  -- Calls per inference of that network.
  times INTEGER NOT NULL CHECK (times > 0),
  first_unix_ns INTEGER NOT NULL,
  last_unix_ns INTEGER NOT NULL,
  UNIQUE (workload, target)
) STRICT;

CREATE INDEX asked_last ON asked (last_unix_ns);
