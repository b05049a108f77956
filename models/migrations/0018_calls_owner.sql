-- The calls of a user and of a team, by their time. Calls of others are in neither.
CREATE INDEX calls_user ON calls (user_id, began_at) WHERE user_id <> '';
CREATE INDEX calls_team ON calls (team_id, began_at) WHERE team_id <> '';
