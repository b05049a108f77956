-- Sums of the ledger by minute, and after some days by quarter of an hour: packed, in a row
-- for each hour, and after some days for each day (UTC). begins is its beginning in Unix
-- seconds, hours is 1 or 24. The ledger adds rows, each with a part of its own; from time to
-- time they are merged into one, whose part is empty.
CREATE TABLE usage_sums (
    begins  BIGINT NOT NULL,
    hours   INTEGER NOT NULL,
    part    TEXT NOT NULL,
    totals  BYTEA NOT NULL,
    details BYTEA NOT NULL,
    PRIMARY KEY (begins, hours, part)
);

-- since is the first day (Unix seconds) from which on usage_sums has all calls. Before, there
-- is usage_days. The rows of former releases whose id is less than fill_from are still to be
-- summed; it is empty when none are.
CREATE TABLE usage_since (
    id        INTEGER PRIMARY KEY,
    since     BIGINT NOT NULL,
    fill_from TEXT NOT NULL
);

INSERT INTO usage_since (id, since, fill_from) SELECT 1,
    CASE WHEN EXISTS (SELECT 1 FROM usage_days) THEN 253402300800 ELSE 0 END,
    CASE WHEN EXISTS (SELECT 1 FROM usage_days) THEN 'call_9999999999999999' ELSE '' END;

-- Whether usage_sums has the call: not, when a former release has written it.
ALTER TABLE calls ADD COLUMN summed BOOLEAN NOT NULL DEFAULT FALSE;
