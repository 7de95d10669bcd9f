-- What people or the farm itself have decided about a device (docs/decisions/0064-operating.md).
ALTER TABLE device ADD COLUMN service TEXT NOT NULL DEFAULT 'in service' CHECK (service IN ('in service', 'drained', 'quarantined'));
ALTER TABLE device ADD COLUMN service_reason TEXT NOT NULL DEFAULT '';
-- Why an attempt ended, in words; empty: it told something, or is not over.
ALTER TABLE attempt ADD COLUMN error TEXT NOT NULL DEFAULT '';
ALTER TABLE device ADD COLUMN service_unix_ns INTEGER NOT NULL DEFAULT 0;  -- Since when; 0: from the beginning.
