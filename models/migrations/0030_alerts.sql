-- Who revoked a key or disabled a user may take it back for a while.
ALTER TABLE api_keys ADD COLUMN revoked_by TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN disabled_by TEXT NOT NULL DEFAULT '';

-- An event that is told in one way. due_at is when it is sent, or sent again where the replica that
-- claimed it has not said how it went; 0: it is ended, and error says whether it was accepted.
CREATE TABLE alerts (
    id         TEXT   NOT NULL PRIMARY KEY,
    event      TEXT   NOT NULL,
    about      TEXT   NOT NULL,
    period     TEXT   NOT NULL,
    way        TEXT   NOT NULL,
    text       TEXT   NOT NULL,
    data       TEXT   NOT NULL,
    attempts   BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    kept_until BIGINT NOT NULL DEFAULT 0,
    error      TEXT   NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX alerts_once ON alerts (about, event, period, way);
CREATE INDEX alerts_due ON alerts (due_at) WHERE due_at > 0;
CREATE INDEX alerts_created ON alerts (created_at, id);

-- Those that wait are found again within a minute, as long as the budget is still spent.
INSERT INTO alerts (id, event, about, period, way, text, data, attempts, created_at, due_at, kept_until)
SELECT id, 'budget.threshold_reached', account, span || ' ' || period || ' ' || threshold || ' ' || budget, 'webhook',
    threshold || ' % of a budget was spent: ' || account, '{}', attempts, created_at, 0,
    CASE WHEN period = '' THEN 0 ELSE created_at + 8640000000000 END
FROM budget_alerts WHERE due_at = 0;
DROP TABLE budget_alerts;
