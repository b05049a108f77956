-- n grows with every change that can make a replica's cached key or user wrong, in
-- the transaction of that change. A replica that reads the same n again knows that
-- all that it has cached is still right. Inserts make nothing wrong, and
-- last_used_at changes all the time: neither is counted. A migration that creates
-- one of these tables again must create its triggers again.
CREATE TABLE revisions (
    id INTEGER PRIMARY KEY,
    n  BIGINT NOT NULL
);

INSERT INTO revisions (id, n) VALUES (1, 0);

-- The schema is named for sessions that have another search_path.
CREATE FUNCTION count_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('UPDATE %I.revisions SET n = n + 1 WHERE id = 1', TG_TABLE_SCHEMA);
    RETURN NULL;
END
$$;

-- BEFORE, so that every transaction locks the row of revisions before it locks rows
-- of keys or users: no two can deadlock.
CREATE TRIGGER api_keys_changed BEFORE UPDATE OF id, user_id, hash, revoked_at OR DELETE OR TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER users_changed BEFORE UPDATE OF id, password_hash, disabled_at OR DELETE OR TRUNCATE ON users
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();
