-- What providers listed last, for the next start while they do not answer.
CREATE TABLE discovered_models (
    provider   TEXT NOT NULL,
    id         TEXT NOT NULL,
    kind       TEXT NOT NULL,
    created    BIGINT NOT NULL,
    context    BIGINT NOT NULL,
    max_output BIGINT NOT NULL,
    PRIMARY KEY (provider, id)
);
