-- Replicas cache the limits of keys as well: see 0003.
DROP TRIGGER api_keys_changed ON api_keys;

CREATE TRIGGER api_keys_changed BEFORE UPDATE OF id, user_id, hash, revoked_at, expires_at, models,
    rpm_limit, tpm_limit, max_parallel, budget, budget_window OR DELETE OR TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit is append-only';
END
$$;

CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();
