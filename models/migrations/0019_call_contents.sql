-- The requests and the answers of calls, where LOG_PROMPTS asks for them. id is that of the
-- call, and begins with its time. sealed is encrypted.
CREATE TABLE call_contents (
    id     TEXT PRIMARY KEY,
    sealed BYTEA NOT NULL
);
