-- The sessions of an owner, the newest first: one may have very many.
CREATE INDEX ledger_names_owner ON ledger_names (owner, n) WHERE owner <> '';
