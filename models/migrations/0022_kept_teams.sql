-- The team of the key that a response was made with, which alone may open it besides its user; empty =
-- none. What was kept before has none.
ALTER TABLE kept_responses ADD COLUMN team_id TEXT NOT NULL DEFAULT '';
