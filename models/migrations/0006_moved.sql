-- All that the ledger ever took off a hold. With it a replica can say what the
-- hold is to be although the ledger changes it at the same time, and say it
-- again when it does not know whether it was heard.
ALTER TABLE budget_holds ADD COLUMN moved BIGINT NOT NULL DEFAULT 0;
