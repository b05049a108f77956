-- budget_extra raises a budget until budget_extra_until (Unix microseconds). Each session of a client may
-- cost session_budget; 0 is no such limit. Money is in micro-dollars.
ALTER TABLE api_keys ADD COLUMN budget_extra BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN budget_extra_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE api_keys ADD COLUMN session_budget BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN budget_extra BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN budget_extra_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN session_budget BIGINT NOT NULL DEFAULT 0;
ALTER TABLE teams ADD COLUMN budget_extra BIGINT NOT NULL DEFAULT 0;
ALTER TABLE teams ADD COLUMN budget_extra_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE teams ADD COLUMN session_budget BIGINT NOT NULL DEFAULT 0;

-- A call is also paid from the budget of its session.
ALTER TABLE running_calls ADD COLUMN fifth_account TEXT NOT NULL DEFAULT '';
ALTER TABLE running_calls ADD COLUMN fifth_since TEXT NOT NULL DEFAULT '';

-- What sessions have spent is deleted when they have had no call for a month.
CREATE INDEX spend_sessions ON spend (day) WHERE substr(account, 1, 8) = 'session:';
