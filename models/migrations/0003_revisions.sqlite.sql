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
