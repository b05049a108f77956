-- The provider's own id of the request, by which its support finds it.
ALTER TABLE calls ADD COLUMN upstream_request_id TEXT NOT NULL DEFAULT '';
