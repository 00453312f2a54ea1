-- The tables of the example. Run once: psql -f schema.sql DATABASE
BEGIN;

-- A row a verdict. Its primary key is what cuts repeats off: (source, id) is the event's identity, and the same in
-- every form of a verdict.
CREATE TABLE IF NOT EXISTS verdicts (
    source   text        NOT NULL,
    id       text        NOT NULL,
    key      text,
    decision text        NOT NULL,
    score    numeric,
    sequence bigint      NOT NULL,
    decided  timestamptz NOT NULL,
    verdict  jsonb       NOT NULL,  -- the whole of it
    PRIMARY KEY (source, id)
);

-- What follows from the verdicts, a row a key: the part that a repeat would spoil. Verdicts without a key count under ''.
CREATE TABLE IF NOT EXISTS balances (
    key      text    PRIMARY KEY,
    verdicts bigint  NOT NULL,
    score    numeric NOT NULL
);

-- What is no verdict, or cannot be stored as text (a NUL character in a name), once each. Someone should look at it.
CREATE TABLE IF NOT EXISTS rejected (
    digest bytea       PRIMARY KEY,  -- SHA-256 of the record
    record bytea       NOT NULL,
    place  text        NOT NULL,
    reason text        NOT NULL,
    at     timestamptz NOT NULL DEFAULT now()
);

COMMIT;
