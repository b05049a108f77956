-- What of the cost of a call is reserved in budgets before it: 'worst', the most that it can cost, or
-- empty, what BUDGET_RESERVE says.
ALTER TABLE api_keys ADD COLUMN budget_reserve TEXT NOT NULL DEFAULT '';
ALTER TABLE users ADD COLUMN budget_reserve TEXT NOT NULL DEFAULT '';
ALTER TABLE teams ADD COLUMN budget_reserve TEXT NOT NULL DEFAULT '';

-- Caches are emptied when it changes: see 0003.
CREATE TRIGGER api_keys_reserve_changed AFTER UPDATE OF budget_reserve ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER users_reserve_changed AFTER UPDATE OF budget_reserve ON users
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER teams_reserve_changed AFTER UPDATE OF budget_reserve ON teams
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;
