-- Caches are emptied when sign-ins and budgets change: see 0003.
CREATE TRIGGER sign_ins_ended AFTER DELETE ON sign_ins
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER api_keys_budgets_changed AFTER UPDATE OF budget_extra, budget_extra_until, session_budget ON api_keys
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER users_budgets_changed AFTER UPDATE OF budget_extra, budget_extra_until, session_budget ON users
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;

CREATE TRIGGER teams_budgets_changed AFTER UPDATE OF budget_extra, budget_extra_until, session_budget ON teams
BEGIN
    UPDATE revisions SET n = n + 1 WHERE id = 1;
END;
