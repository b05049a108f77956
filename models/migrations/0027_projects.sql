-- The names of projects that clients have given to their calls. owner is an account: of a team,
-- a user, a key, or the gateway.
CREATE TABLE projects (
    owner      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (owner, name)
);
