-- The ledger: one row for each admitted call, in place of calls, usage_days, usage_sums and
-- usage_since, which stay for one release: until no replica of the former release lives, calls are
-- written to them, and one can go back to it. Rows of calls are moved in the background.
--
-- id is the time in milliseconds since 2024 (41 bits), the number of a process (12 bits) and a
-- counter (10 bits): see CallIDs. Columns that end in _n are numbers of ledger_names. NULL is 0 or
-- nothing; no model_n is served_n. flags are 1 for a stream, 2 for estimated tokens and 4 for a model with a price. rest has what nothing is selected by: see ledgerRow.
CREATE TABLE ledger (
    id                      BIGINT PRIMARY KEY,
    began_at                BIGINT,
    cost                    BIGINT,
    input_tokens            BIGINT,
    cached_tokens           BIGINT,
    cache_write_tokens      BIGINT,
    cache_write_hour_tokens BIGINT,
    output_tokens           BIGINT,
    reasoning_tokens        BIGINT,
    searches                BIGINT,
    requests                BIGINT,
    images                  BIGINT,
    seconds                 BIGINT,
    characters              BIGINT,
    user_n                  INTEGER,
    key_n                   INTEGER,
    team_n                  INTEGER,
    project_n               INTEGER,
    session_n               INTEGER,
    model_n                 INTEGER,
    served_n                INTEGER,
    provider_n              INTEGER,
    account_n               INTEGER,
    agent_n                 INTEGER,
    user_agent_n            INTEGER,
    dialect_n               INTEGER,
    outcome_n               INTEGER,
    error_n                 INTEGER,
    status                  SMALLINT,
    cache_miss              SMALLINT,
    flags                   SMALLINT,
    request_id              TEXT,
    rest                    BYTEA NOT NULL
);

CREATE INDEX ledger_user ON ledger (user_n, id) WHERE user_n IS NOT NULL;
CREATE INDEX ledger_team ON ledger (team_n, id) WHERE team_n IS NOT NULL;
CREATE INDEX ledger_session ON ledger (session_n, id) WHERE session_n IS NOT NULL;

-- The texts of the ledger's numbers, and the sessions of agents: owner is the account (as in spend) whose
-- session has this name; it is empty for all other texts.
CREATE TABLE ledger_names (
    n     INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner TEXT NOT NULL,
    text  TEXT NOT NULL,
    UNIQUE (owner, text)
);

-- Sums of the ledger, packed: see usage_sums. After 800 days they have no details. They stay for ever.
CREATE TABLE ledger_sums (
    begins  BIGINT NOT NULL,
    hours   INTEGER NOT NULL,
    part    TEXT NOT NULL,
    totals  BYTEA NOT NULL,
    details BYTEA NOT NULL,
    PRIMARY KEY (begins, hours, part)
);

-- The numbers of processes in the ids of calls. used_until (Unix milliseconds) is a bound of the
-- times in the ids that the process of a number has made.
CREATE TABLE ledger_processes (
    n          INTEGER PRIMARY KEY,
    used_until BIGINT NOT NULL
);

-- From write_from on (Unix seconds) calls are written to the ledger, unless a replica of the former
-- release has a lease: its renewals do not set ledger_until to alive_until. Those that have none, since
-- they have no budgets, are given ten minutes to end.
CREATE TABLE ledger_state (
    id         INTEGER PRIMARY KEY,
    write_from BIGINT NOT NULL
);

INSERT INTO ledger_state (id, write_from) SELECT 1, CASE WHEN EXISTS (SELECT 1 FROM calls)
    THEN CAST(EXTRACT(EPOCH FROM now()) AS BIGINT) + 600 ELSE 0 END;

ALTER TABLE replicas ADD COLUMN ledger_until BIGINT NOT NULL DEFAULT 0;

ALTER TABLE running_calls ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN agent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN parent_agent_id TEXT NOT NULL DEFAULT '';

-- The ledger with texts, for whoever reads it with SQL.
CREATE VIEW ledger_calls AS SELECT l.id, COALESCE(l.began_at, 0) AS began_at,
    COALESCE(l.request_id, '') AS request_id,
    COALESCE(users.text, '') AS user_id, COALESCE(keys.text, '') AS key_id, COALESCE(teams.text, '') AS team_id,
    COALESCE(projects.text, '') AS project, COALESCE(sessions.text, '') AS session,
    COALESCE(models.text, served.text, '') AS model, COALESCE(served.text, '') AS served, COALESCE(providers.text, '') AS provider,
    COALESCE(accounts.text, '') AS account, COALESCE(agents.text, '') AS agent, COALESCE(dialects.text, '') AS dialect,
    COALESCE(outcomes.text, '') AS outcome, COALESCE(errors.text, '') AS error_code, COALESCE(l.status, 0) AS status,
    (COALESCE(l.flags, 0) & 1) <> 0 AS stream, (COALESCE(l.flags, 0) & 2) <> 0 AS estimated, (COALESCE(l.flags, 0) & 4) <> 0 AS priced,
    COALESCE(l.input_tokens, 0) AS input_tokens, COALESCE(l.cached_tokens, 0) AS cached_tokens,
    COALESCE(l.cache_write_tokens, 0) AS cache_write_tokens, COALESCE(l.cache_write_hour_tokens, 0) AS cache_write_hour_tokens,
    COALESCE(l.output_tokens, 0) AS output_tokens, COALESCE(l.reasoning_tokens, 0) AS reasoning_tokens,
    COALESCE(l.searches, 0) AS searches, COALESCE(l.requests, 0) AS requests, COALESCE(l.images, 0) AS images,
    COALESCE(l.seconds, 0) AS seconds, COALESCE(l.characters, 0) AS characters, COALESCE(l.cost, 0) AS cost
FROM ledger l
    LEFT JOIN ledger_names users ON users.n = l.user_n
    LEFT JOIN ledger_names keys ON keys.n = l.key_n
    LEFT JOIN ledger_names teams ON teams.n = l.team_n
    LEFT JOIN ledger_names projects ON projects.n = l.project_n
    LEFT JOIN ledger_names sessions ON sessions.n = l.session_n
    LEFT JOIN ledger_names models ON models.n = l.model_n
    LEFT JOIN ledger_names served ON served.n = l.served_n
    LEFT JOIN ledger_names providers ON providers.n = l.provider_n
    LEFT JOIN ledger_names accounts ON accounts.n = l.account_n
    LEFT JOIN ledger_names agents ON agents.n = l.agent_n
    LEFT JOIN ledger_names dialects ON dialects.n = l.dialect_n
    LEFT JOIN ledger_names outcomes ON outcomes.n = l.outcome_n
    LEFT JOIN ledger_names errors ON errors.n = l.error_n;
