-- Who is deleted keeps an address for administrators, until it is erased. The audit has those of before.
CREATE TABLE deleted_users (
    id         TEXT PRIMARY KEY,
    email      TEXT NOT NULL,
    deleted_at BIGINT NOT NULL
);

CREATE INDEX deleted_users_email ON deleted_users (email);

INSERT INTO deleted_users (id, email, deleted_at)
    SELECT target, detail::json ->> 'email', at FROM audit
    WHERE action = 'user.delete' AND CASE WHEN detail LIKE '{%' THEN detail::json ->> 'email' <> '' END
    ON CONFLICT DO NOTHING;

-- Erasing replaces a user's address in rows of the audit. It adds a row here and deletes it in the same
-- transaction: no other transaction ever sees one, and the audit is closed for all of them.
CREATE TABLE audit_erasures (
    id INTEGER PRIMARY KEY
);

CREATE FUNCTION audit_is_kept_or_erased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    erasing BOOLEAN;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.audit_erasures)', TG_TABLE_SCHEMA) INTO erasing;
    IF NOT erasing THEN
        RAISE EXCEPTION 'audit is append-only';
    END IF;
    RETURN NULL;
END
$$;

DROP TRIGGER audit_kept ON audit;

CREATE TRIGGER audit_kept BEFORE DELETE OR TRUNCATE OR UPDATE OF id, at, actor_id, action, target, request_id, address ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();

CREATE TRIGGER audit_not_changed BEFORE UPDATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept_or_erased();
