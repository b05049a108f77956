-- What of the cost of a call is reserved in budgets before it: 'worst', the most that it can cost, or
-- empty, what BUDGET_RESERVE says.
ALTER TABLE api_keys ADD COLUMN budget_reserve TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN budget_reserve TEXT NOT NULL DEFAULT '';
ALTER TABLE teams ADD COLUMN budget_reserve TEXT NOT NULL DEFAULT '';

-- Replicas cache it: see 0003.
CREATE TRIGGER api_keys_reserve_changed BEFORE UPDATE OF budget_reserve ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER users_reserve_changed BEFORE UPDATE OF budget_reserve ON users
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();

CREATE TRIGGER teams_reserve_changed BEFORE UPDATE OF budget_reserve ON teams
    FOR EACH STATEMENT EXECUTE FUNCTION count_revision();
