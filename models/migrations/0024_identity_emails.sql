-- The address that the provider had for the identity when it was added; empty for one of before.
ALTER TABLE identities ADD COLUMN email TEXT NOT NULL DEFAULT '';
