-- Counts that are asked for at each trial's end, kept instead of being counted anew.
CREATE TABLE trial_count (
  task_id INTEGER NOT NULL REFERENCES task,
  state TEXT NOT NULL,
  trials INTEGER NOT NULL CHECK (trials >= 0),
  PRIMARY KEY (task_id, state)
) STRICT, WITHOUT ROWID;
INSERT INTO trial_count SELECT task_id, state, count(*) FROM trial GROUP BY task_id, state;
CREATE TRIGGER trial_counted AFTER INSERT ON trial BEGIN
  INSERT OR IGNORE INTO trial_count VALUES (new.task_id, new.state, 0);
  UPDATE trial_count SET trials = trials + 1 WHERE task_id = new.task_id AND state = new.state;
END;
CREATE TRIGGER trial_moved AFTER UPDATE OF state ON trial WHEN new.state <> old.state BEGIN
  UPDATE trial_count SET trials = trials - 1 WHERE task_id = old.task_id AND state = old.state;
  INSERT OR IGNORE INTO trial_count VALUES (new.task_id, new.state, 0);
  UPDATE trial_count SET trials = trials + 1 WHERE task_id = new.task_id AND state = new.state;
END;

ALTER TABLE tuning_key ADD COLUMN measured INTEGER NOT NULL DEFAULT 0;  -- Distinct traces with a record that was in time.
UPDATE tuning_key SET measured =
  (SELECT count(DISTINCT trace_id) FROM record WHERE key_id = tuning_key.id AND late = 0);

CREATE INDEX record_in_order ON record (key_id);  -- By id below a key: histories are read in pages.
