-- Who is deleted keeps an address for administrators, until it is erased. The audit has those of before.
CREATE TABLE deleted_users (
    id         TEXT PRIMARY KEY,
    email      TEXT NOT NULL,
    deleted_at BIGINT NOT NULL
);

CREATE INDEX deleted_users_email ON deleted_users (email);

INSERT INTO deleted_users (id, email, deleted_at)
    SELECT target, detail ->> 'email', at FROM audit
    WHERE action = 'user.delete' AND CASE WHEN detail LIKE '{%' THEN detail ->> 'email' <> '' END
    ON CONFLICT DO NOTHING;

-- Erasing replaces a user's address in rows of the audit. It adds a row here and deletes it in the same
-- transaction: no other transaction ever sees one, and the audit is closed for all of them.
CREATE TABLE audit_erasures (
    id INTEGER PRIMARY KEY
);

DROP TRIGGER audit_not_changed;

CREATE TRIGGER audit_not_changed BEFORE UPDATE ON audit WHEN NOT EXISTS (SELECT 1 FROM audit_erasures)
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;

CREATE TRIGGER audit_kept BEFORE UPDATE OF id, at, actor_id, action, target, request_id, address ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
