-- The limits of keys. 0 and the empty text mean that there is no such limit. A key
-- has a budget when budget_window is set. Money is in micro-dollars.
ALTER TABLE api_keys ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN models TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN rpm_limit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN tpm_limit BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN max_parallel BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN budget BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN budget_window TEXT NOT NULL DEFAULT '';
ALTER TABLE api_keys ADD COLUMN limited_by TEXT NOT NULL DEFAULT '';

-- The ledger: one row for each admitted call. Its ids begin with the time, so that
-- rows are added at the end of the index and deleted at its beginning.
CREATE TABLE calls (
    id                 TEXT PRIMARY KEY,
    request_id         TEXT NOT NULL,
    user_id            TEXT NOT NULL,
    key_id             TEXT NOT NULL,
    model              TEXT NOT NULL,
    served             TEXT NOT NULL,
    provider           TEXT NOT NULL,
    stream             BOOLEAN NOT NULL,
    attempts           INTEGER NOT NULL,
    status             INTEGER NOT NULL,
    outcome            TEXT NOT NULL,
    error_code         TEXT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    cached_tokens      BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    reasoning_tokens   BIGINT NOT NULL,
    estimated          BOOLEAN NOT NULL,
    priced             BOOLEAN NOT NULL,
    cost               BIGINT NOT NULL,
    began_at           BIGINT NOT NULL,
    first_token_us     BIGINT NOT NULL,
    duration_us        BIGINT NOT NULL,
    overhead_us        BIGINT NOT NULL
);

-- Sums of the ledger by day (UTC), which outlive its rows.
CREATE TABLE usage_days (
    day                TEXT NOT NULL,
    user_id            TEXT NOT NULL,
    key_id             TEXT NOT NULL,
    model              TEXT NOT NULL,
    provider           TEXT NOT NULL,
    calls              BIGINT NOT NULL,
    failed             BIGINT NOT NULL,
    estimated          BIGINT NOT NULL,
    unpriced           BIGINT NOT NULL,
    input_tokens       BIGINT NOT NULL,
    cached_tokens      BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    reasoning_tokens   BIGINT NOT NULL,
    cost               BIGINT NOT NULL,
    PRIMARY KEY (day, user_id, key_id, model, provider)
);

CREATE INDEX usage_days_user ON usage_days (user_id, day);

-- What an account (key:ID, or gateway) has spent on a day.
CREATE TABLE spend (
    account TEXT NOT NULL,
    day     TEXT NOT NULL,
    cost    BIGINT NOT NULL,
    PRIMARY KEY (account, day)
);

-- What a replica may spend of a budget without asking, or has spent without the
-- ledger having recorded it yet. since is the first day of the budget's window.
CREATE TABLE budget_holds (
    account TEXT NOT NULL,
    since   TEXT NOT NULL,
    replica TEXT NOT NULL,
    amount  BIGINT NOT NULL,
    PRIMARY KEY (account, since, replica)
);

-- The leases of replicas. The holds of a replica count until its lease expires.
CREATE TABLE replicas (
    id          TEXT PRIMARY KEY,
    alive_until BIGINT NOT NULL
);

-- What administrators did. Rows are never changed or deleted.
CREATE TABLE audit (
    id          TEXT PRIMARY KEY,
    at          BIGINT NOT NULL,
    actor_id    TEXT NOT NULL,
    actor_email TEXT NOT NULL,
    action      TEXT NOT NULL,
    target      TEXT NOT NULL,
    detail      TEXT NOT NULL,
    request_id  TEXT NOT NULL,
    address     TEXT NOT NULL
);

CREATE INDEX audit_at ON audit (at);
