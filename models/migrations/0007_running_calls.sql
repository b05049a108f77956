-- Calls that have reserved money from a budget and are not in the ledger, as their
-- replica's last renewal of its lease noted them. They are booked when the lease
-- expires. opened_at is by the database's clock, in microseconds.
CREATE TABLE running_calls (
    id                TEXT PRIMARY KEY,
    replica           TEXT NOT NULL,
    request_id        TEXT NOT NULL,
    user_id           TEXT NOT NULL,
    key_id            TEXT NOT NULL,
    model             TEXT NOT NULL,
    served            TEXT NOT NULL,
    provider          TEXT NOT NULL,
    account           TEXT NOT NULL,
    since             TEXT NOT NULL,
    other_account     TEXT NOT NULL,
    other_since       TEXT NOT NULL,
    stream            BOOLEAN NOT NULL,
    began_at          BIGINT NOT NULL,
    opened_at         BIGINT NOT NULL,
    input_tokens      BIGINT NOT NULL,
    input_cost        BIGINT NOT NULL,
    output_tokens     BIGINT NOT NULL,
    output_cost       BIGINT NOT NULL,
    tokens_per_second BIGINT NOT NULL
);

CREATE INDEX running_calls_replica ON running_calls (replica);
