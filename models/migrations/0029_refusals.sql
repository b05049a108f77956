-- Calls with keys that the gateway refused: some rows of each key, and counts of all by quarter hours.
-- They are no part of the ledger, nor of its sums.
CREATE TABLE refusals (
    id         TEXT     PRIMARY KEY,
    at         BIGINT   NOT NULL,
    request_id TEXT     NOT NULL,
    key_id     TEXT     NOT NULL,
    user_id    TEXT     NOT NULL,
    team_id    TEXT     NOT NULL,
    status     SMALLINT NOT NULL,
    reason     TEXT     NOT NULL,
    model      TEXT     NOT NULL,
    message    TEXT     NOT NULL
);
CREATE INDEX refusals_key ON refusals (key_id, id);
CREATE INDEX refusals_user ON refusals (user_id, id);
CREATE INDEX refusals_team ON refusals (team_id, id);

CREATE TABLE refusal_counts (
    begins  BIGINT NOT NULL,
    key_id  TEXT   NOT NULL,
    reason  TEXT   NOT NULL,
    user_id TEXT   NOT NULL,
    team_id TEXT   NOT NULL,
    refused BIGINT NOT NULL,
    PRIMARY KEY (begins, key_id, reason)
);
CREATE INDEX refusal_counts_key ON refusal_counts (key_id, begins);
CREATE INDEX refusal_counts_user ON refusal_counts (user_id, begins);
CREATE INDEX refusal_counts_team ON refusal_counts (team_id, begins);
