-- Replicas cache sign-ins and budgets: see 0003.
CREATE TRIGGER sign_ins_ended BEFORE DELETE OR TRUNCATE ON sign_ins
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER api_keys_budgets_changed BEFORE UPDATE OF budget_extra, budget_extra_until, session_budget ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER users_budgets_changed BEFORE UPDATE OF budget_extra, budget_extra_until, session_budget ON users
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER teams_budgets_changed BEFORE UPDATE OF budget_extra, budget_extra_until, session_budget ON teams
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();
