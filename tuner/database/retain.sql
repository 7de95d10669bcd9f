-- Records up to here were asked whether their samples may go.
ALTER TABLE meta ADD COLUMN samples_judged_to INTEGER NOT NULL DEFAULT 0;

CREATE INDEX record_final ON record (key_id) WHERE final_round > 0;  -- Few of many: read whenever a final is decided.
