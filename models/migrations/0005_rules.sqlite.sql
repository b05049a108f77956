-- Replicas cache the limits of keys as well: see 0003.
DROP TRIGGER api_keys_changed;

CREATE TRIGGER api_keys_changed AFTER UPDATE OF id, user_id, hash, revoked_at, expires_at, models,
    rpm_limit, tpm_limit, max_parallel, budget, budget_window ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER audit_not_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;

CREATE TRIGGER audit_not_removed BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'audit is append-only');
END;
