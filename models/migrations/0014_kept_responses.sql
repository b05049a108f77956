-- Responses that the gateway keeps, so that a request can go on from one. owner is the
-- account of a user, or of a key that belongs to a team alone, or anonymous. previous is the
-- id of the response before it, or empty. sealed is encrypted; its type has the same meaning
-- for both databases, as SQLite stores what it is given.
CREATE TABLE kept_responses (
    id         TEXT PRIMARY KEY,
    owner      TEXT NOT NULL,
    previous   TEXT NOT NULL,
    sealed     BYTEA NOT NULL,
    size       BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX kept_responses_owner ON kept_responses (owner, created_at);
CREATE INDEX kept_responses_expiry ON kept_responses (expires_at);

-- The items of their outputs, which a request may refer to one by one.
CREATE TABLE kept_items (
    id          TEXT NOT NULL,
    response_id TEXT NOT NULL REFERENCES kept_responses (id) ON DELETE CASCADE,
    PRIMARY KEY (id, response_id)
);

CREATE INDEX kept_items_response ON kept_items (response_id);
