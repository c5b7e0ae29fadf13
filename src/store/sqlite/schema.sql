-- Schema 1. Every statement here, and the file it makes, works with SQLite 3.40 and newer.

-- The calls: a projection of audit, one row a key. Times are seconds since 1970.
CREATE TABLE calls (
  call_id      TEXT PRIMARY KEY NOT NULL,
  idem_key     TEXT NOT NULL UNIQUE,          -- law L1: one call per key
  fingerprint  TEXT NOT NULL,                 -- hex of SHA-256 over tool and args
  client_id    TEXT,
  seq          INTEGER,
  tool         TEXT NOT NULL,
  args_json    TEXT NOT NULL,                 -- canonical form
  -- Spelled out: SQLite would build a table of a list of more than two for each row that it checks.
  status       TEXT NOT NULL
    CHECK (status = 'pending' OR status = 'running' OR status = 'succeeded' OR status = 'failed'),
  result_json  TEXT,                          -- only when succeeded
  error_json   TEXT,                          -- only when failed: code, message, retryable, cause
  attempt      INTEGER NOT NULL DEFAULT 0,    -- attempts claimed so far
  lease_until  REAL,                          -- only when running and not held
  owner        TEXT,                          -- only when running and not held
  effect_id    TEXT,                          -- only once the effect is recorded
  created_at   REAL NOT NULL,
  updated_at   REAL NOT NULL,                 -- of the last event
  version      INTEGER NOT NULL,              -- of the last event, from 1
  chain        BLOB NOT NULL,                 -- hash of the last event
  held_since   REAL,                          -- only when held (status is running then)
  held_reason  TEXT,                          -- only when held
  due_at       REAL,                          -- only when pending and not to be claimed before
  open_attempt INTEGER,                       -- 1 or 0: an attempt may still report, with or without a side effect
  effect_amount INTEGER,                      -- the effect's amount, if it has one
  fingerprint_scheme INTEGER NOT NULL,        -- the rule that the fingerprint was made by
  checksum     INTEGER NOT NULL               -- over all other columns; checked when the row is read
);

-- A key whose row is gone would be free again, and its call could run twice.
CREATE TRIGGER calls_keep_their_keys BEFORE UPDATE OF call_id, idem_key ON calls
  BEGIN SELECT RAISE(ABORT, 'a key leads to one call, forever: neither is ever changed'); END;
CREATE TRIGGER calls_are_never_deleted BEFORE DELETE ON calls
  BEGIN SELECT RAISE(ABORT, 'a key is known forever: a call is never deleted'); END;

-- What waits or runs: few rows, so most calls leave these indexes as soon as they are done. The conditions are spelled as
-- SQLite needs them to see that a query's own conditions imply them. Within one status, rows are in order of arrival.
CREATE INDEX idx_calls_status ON calls(status, lease_until)
  WHERE (status = 'pending' OR status = 'running') AND due_at IS NULL;
-- Pending calls by tool, so that a worker of one tool does not step over the calls of another. Those that are not to be
-- claimed yet are kept apart.
CREATE INDEX idx_calls_ready ON calls(tool) WHERE status = 'pending' AND due_at IS NULL;
CREATE INDEX idx_calls_due ON calls(tool, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX idx_calls_held ON calls(status) WHERE held_since IS NOT NULL;
CREATE INDEX idx_calls_failed ON calls(status) WHERE status = 'failed';
CREATE INDEX idx_calls_client_seq ON calls(client_id, seq) WHERE client_id IS NOT NULL;

-- The effects: a projection of audit, one row a call at most.
CREATE TABLE effects (
  effect_id   TEXT PRIMARY KEY NOT NULL,
  call_id     TEXT NOT NULL UNIQUE,           -- law L2: one effect per call
  tool        TEXT NOT NULL,
  amount      INTEGER,
  created_at  REAL NOT NULL,
  CHECK (effect_id = 'eff_' || substr(call_id, 3))
) WITHOUT ROWID;
CREATE TRIGGER effects_are_never_updated BEFORE UPDATE ON effects
  BEGIN SELECT RAISE(ABORT, 'an effect has happened: it is never changed'); END;
CREATE TRIGGER effects_are_never_deleted BEFORE DELETE ON effects
  BEGIN SELECT RAISE(ABORT, 'an effect has happened: it is never deleted'); END;

-- The log: the truth. payload is the whole event; the other columns repeat what people look for.
CREATE TABLE audit (
  id       INTEGER PRIMARY KEY AUTOINCREMENT, -- position
  ts       REAL NOT NULL,
  call_id  TEXT NOT NULL,
  event    TEXT NOT NULL,
  detail   TEXT,
  version  INTEGER NOT NULL,                  -- within the call, from 1
  payload  BLOB NOT NULL,
  hash     BLOB NOT NULL,                     -- over the call's previous hash and this event
  UNIQUE (call_id, version)
);
CREATE TRIGGER audit_is_never_updated BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'audit is append-only: an event is never changed'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit
  BEGIN SELECT RAISE(ABORT, 'audit is append-only: an event is never deleted'); END;

-- Counters for /stats, kept in the transactions that change what they count.
CREATE TABLE counters (
  name   TEXT PRIMARY KEY NOT NULL,
  value  INTEGER NOT NULL CHECK (value >= 0)
) WITHOUT ROWID;
