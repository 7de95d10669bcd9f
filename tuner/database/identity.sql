-- Who may do what (docs/decisions/0061-identity.md). Rows stay: they are how a farm was changed. Of a secret there is its SHA-256.
CREATE TABLE certificate (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  serial BLOB NOT NULL UNIQUE CHECK (length(serial) = 16),
  role TEXT NOT NULL CHECK (role IN ('device', 'worker')),
  name TEXT NOT NULL,
  not_before_unix_ns INTEGER NOT NULL,  -- These two as the certificate says.
  not_after_unix_ns INTEGER NOT NULL,
  added_unix_ns INTEGER NOT NULL,
  revoked_unix_ns INTEGER,              -- NULL: it was not.
  revoked_because TEXT NOT NULL
) STRICT;
CREATE INDEX certificate_by_name ON certificate (role, name) WHERE revoked_unix_ns IS NULL;

CREATE TABLE invitation (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  code_digest BLOB NOT NULL UNIQUE CHECK (length(code_digest) = 32),
  role TEXT NOT NULL CHECK (role IN ('device', 'worker')),
  name TEXT NOT NULL,                   -- Empty: who joins chooses one that nobody has.
  created_unix_ns INTEGER NOT NULL,
  expires_unix_ns INTEGER NOT NULL,
  taken_unix_ns INTEGER,                -- NULL: nobody has.
  certificate_id INTEGER REFERENCES certificate,
  CHECK ((taken_unix_ns IS NULL) = (certificate_id IS NULL))
) STRICT;

CREATE TABLE token (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  secret_digest BLOB NOT NULL UNIQUE CHECK (length(secret_digest) = 32),
  user TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('viewer', 'submitter', 'admin')),
  created_unix_ns INTEGER NOT NULL,
  expires_unix_ns INTEGER NOT NULL,
  revoked_unix_ns INTEGER
) STRICT;

-- The user who submitted it; empty: over the server's own socket, or before there were users.
ALTER TABLE job ADD COLUMN submitter TEXT NOT NULL DEFAULT '';
