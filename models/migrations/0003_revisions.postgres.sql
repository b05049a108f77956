-- n grows with every change that can end what a replica believes of a key or of
-- a user: in the transaction of that change, whoever makes it. A replica that
-- sees the same n again need not ask about each of them. Inserts end nothing,
-- and last_used_at changes all the time, so that neither counts. A migration
-- that makes one of these tables anew has to make its triggers anew.
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

-- Before the rows are locked: all who change some wait for the one row of
-- revisions first, so that no two wait for each other. What commits, and when,
-- is the same.
CREATE TRIGGER api_keys_changed BEFORE UPDATE OF id, user_id, hash, revoked_at OR DELETE OR TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER users_changed BEFORE UPDATE OF id, password_hash, disabled_at OR DELETE OR TRUNCATE ON users
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();
