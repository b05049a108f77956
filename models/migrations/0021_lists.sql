-- The lists of all keys and of all users begin with the newest ones. Without an index each page sorts
-- all of them.
CREATE INDEX api_keys_created ON api_keys (created_at, id);
CREATE INDEX users_created ON users (created_at, id);
