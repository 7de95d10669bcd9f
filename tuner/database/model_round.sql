-- How well a cost model ranked what was measured: one row for each time that it learned from a batch of a task's results.
CREATE TABLE model_round (
  task_id INTEGER NOT NULL REFERENCES task,
  trials INTEGER NOT NULL CHECK (trials >= 0),  -- Results of the task that the search knew afterwards.
  at_unix_ns INTEGER NOT NULL,
  batch INTEGER NOT NULL,         -- Results that it learned from now ...
  rows INTEGER NOT NULL,          -- ... and all that the model holds, those of other tasks too.
  pairs INTEGER NOT NULL,         -- Of the batch, whose order the measurements decide ...
  pairs_right INTEGER NOT NULL,   -- ... and whose order the model had right before it learned from them.
  regret_at_1 REAL NOT NULL,      -- Time of the best of the k ranked first over the best of the batch, minus 1.
  regret_at_8 REAL NOT NULL,
  refitted INTEGER NOT NULL CHECK (refitted IN (0, 1)),
  trees INTEGER NOT NULL,         -- Of one booster.
  draft_weight REAL NOT NULL,     -- Of the draft estimate in the score.
  PRIMARY KEY (task_id, trials)
) STRICT, WITHOUT ROWID;
