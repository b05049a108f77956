-- What the ledger says of a call besides. dialect is the API that the client spoke, user_agent
-- its name. upstream_key are the last four characters of the key that answered. opened_us are
-- microseconds until the first provider was asked. detail is JSON of what only some calls have:
-- see CallDetail. A row of a former release has none of it.
ALTER TABLE calls ADD COLUMN dialect TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN upstream_key TEXT NOT NULL DEFAULT '';
ALTER TABLE calls ADD COLUMN opened_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE calls ADD COLUMN detail TEXT NOT NULL DEFAULT '';
