-- How often a replica's lease was taken anew, at first or because it had expired. The
-- replica compares it with that of the answer before: an answer may be lost.
ALTER TABLE replicas ADD COLUMN epoch BIGINT NOT NULL DEFAULT 0;
