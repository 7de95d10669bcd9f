-- Who was given a trial, and what became of that: the fence of whatever is said of it later.
CREATE TABLE attempt (
  trial_id INTEGER NOT NULL REFERENCES trial,
  attempt INTEGER NOT NULL,
  worker TEXT,                          -- Builds it; or
  device_id INTEGER REFERENCES device,  -- measures it
  epoch INTEGER,                        -- under this lease
  module_digest BLOB,                   -- by this module.
  state TEXT NOT NULL CHECK (state IN ('HELD', 'REPORTED', 'FAILED', 'RETURNED')),
  claimed_unix_ns INTEGER NOT NULL,
  ended_unix_ns INTEGER,                -- NULL while HELD.
  PRIMARY KEY (trial_id, attempt),
  CHECK ((worker IS NULL) <> (device_id IS NULL)),
  CHECK ((device_id IS NULL) = (epoch IS NULL) AND (device_id IS NULL) = (module_digest IS NULL)),
  CHECK ((state = 'HELD') = (ended_unix_ns IS NULL))
) STRICT, WITHOUT ROWID;
INSERT INTO attempt (trial_id, attempt, worker, device_id, epoch, module_digest, state, claimed_unix_ns)
  SELECT id, attempt, worker, device_id, epoch, iif(device_id IS NULL, NULL, module_digest), 'HELD', updated_unix_ns
  FROM trial WHERE state IN ('BUILDING', 'ASSIGNED', 'RUNNING');

-- What came late is no answer any more.
DELETE FROM best WHERE record_id IN (SELECT id FROM record WHERE late = 1);
INSERT INTO best (key_id, record_id, status, median_ns)
  SELECT r.key_id, r.id, r.status, r.median_ns FROM record r WHERE r.key_id NOT IN (SELECT key_id FROM best) AND
  r.id = (SELECT q.id FROM record q WHERE q.key_id = r.key_id AND q.late = 0 AND q.final_round = 0 AND
          q.status IN ('OK', 'NOISY') ORDER BY q.status <> 'OK', q.median_ns, q.id LIMIT 1);
