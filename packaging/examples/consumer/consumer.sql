-- Verdicts from a file sink's lines into PostgreSQL, each once, by SQL alone:
--
--     psql -X -f consumer.sql DATABASE < verdicts.ndjson
--
-- One transaction: the lines into a staging table, then one statement that writes the verdicts under their unique key and
-- adds to the balances what the first part RETURNs, which are the new ones alone. Killed at any point it leaves all or
-- nothing; run again over the same lines, or over a file that has grown, it adds nothing twice.
\set ON_ERROR_STOP on
\set QUIET on
BEGIN;

CREATE TEMPORARY TABLE staging (line text NOT NULL) ON COMMIT DROP;

-- As CSV with two characters that JSON never holds as they are: then a line is taken word for word, backslashes too.
\copy staging FROM pstdin WITH (FORMAT csv, QUOTE E'\x01', DELIMITER E'\x02')

-- The one character that PostgreSQL's text cannot hold: NUL, in JSON an escape that is not itself escaped.
WITH unfit AS (
    DELETE FROM staging WHERE line ~ '(^|[^\\])(\\\\)*\\u0000' RETURNING convert_to(line, 'UTF8') AS record
)
INSERT INTO rejected (digest, record, place, reason)
SELECT DISTINCT sha256(record), record, 'psql', 'a NUL character' FROM unfit
ON CONFLICT DO NOTHING;

-- Sorted, so that two of these never wait for each other's rows crosswise.
WITH fresh AS (
    INSERT INTO verdicts (source, id, key, decision, score, sequence, decided, verdict)
    SELECT v->>'source', v->>'id', v->>'key', v->>'decision', (v->>'score')::numeric, (v->>'sequence')::bigint,
           (v->>'decided')::timestamptz, v
    FROM staging, CAST(line AS jsonb) AS v
    ORDER BY 1, 2
    ON CONFLICT (source, id) DO NOTHING
    RETURNING key, score
), added AS (
    INSERT INTO balances AS b (key, verdicts, score)
    SELECT coalesce(key, ''), count(*), coalesce(sum(score), 0) FROM fresh GROUP BY 1 ORDER BY 1
    ON CONFLICT (key) DO UPDATE SET verdicts = b.verdicts + excluded.verdicts, score = b.score + excluded.score
)
SELECT (SELECT count(*) FROM fresh) AS new, (SELECT count(*) FROM staging) - (SELECT count(*) FROM fresh) AS known;

COMMIT;
