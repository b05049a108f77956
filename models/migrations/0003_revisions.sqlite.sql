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

CREATE TRIGGER api_keys_changed AFTER UPDATE OF id, user_id, hash, revoked_at ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER api_keys_deleted AFTER DELETE ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER users_changed AFTER UPDATE OF id, password_hash, disabled_at ON users
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER users_deleted AFTER DELETE ON users
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;
