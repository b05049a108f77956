-- The total that the ledger has deducted from a hold. With it a replica can save
-- the hold while the ledger deducts from it, and save it again when the answer to
-- a commit was lost.
ALTER TABLE budget_holds ADD COLUMN moved BIGINT NOT NULL DEFAULT 0;
