-- Finalists: candidates that are measured again, in rounds and in turns, before one of them becomes the best of its key.
ALTER TABLE task ADD COLUMN parent_id INTEGER REFERENCES task;  -- NULL: what the job asked for; else a round of finals of that task, whose trials spend no budget.
ALTER TABLE task ADD COLUMN final_round INTEGER NOT NULL DEFAULT 0 CHECK (final_round >= 0);  -- 1, 2, ... of a round of finals.
ALTER TABLE record ADD COLUMN final_round INTEGER NOT NULL DEFAULT 0 CHECK (final_round >= 0);  -- Of its trial's task.
ALTER TABLE best ADD COLUMN final_round INTEGER NOT NULL DEFAULT 0 CHECK (final_round >= 0);  -- Of its record.
CREATE UNIQUE INDEX task_final ON task (parent_id, final_round) WHERE parent_id IS NOT NULL;
