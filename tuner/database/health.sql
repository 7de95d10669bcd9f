-- Whether a device measures what it should (docs/decisions/0067-health-of-devices.md).
ALTER TABLE device ADD COLUMN health TEXT NOT NULL DEFAULT 'unknown' CHECK (health IN ('unknown', 'probation', 'good', 'bad'));
ALTER TABLE device ADD COLUMN health_words TEXT NOT NULL DEFAULT '';         -- Why it is checked, or what is wrong with it.
ALTER TABLE device ADD COLUMN golden_ns REAL NOT NULL DEFAULT 0;             -- Its baseline; 0: none.
ALTER TABLE device ADD COLUMN golden_module BLOB;                            -- What took so long.
ALTER TABLE device ADD COLUMN failed_checks INTEGER NOT NULL DEFAULT 0;      -- One after the other.
ALTER TABLE device ADD COLUMN checked_unix_ns INTEGER NOT NULL DEFAULT 0;    -- When the golden kernel last went well; 0: never.
ALTER TABLE device ADD COLUMN probe_unix_ns INTEGER NOT NULL DEFAULT 0;      -- When a bad one is tried again; 0: not by itself.
