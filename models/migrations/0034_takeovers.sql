-- What another gateway had when it was taken over last: its keys, users, teams and others by their kind and their id there, and the row
-- here that was made of each. taken has the values there as JSON, against which the next takeover compares, and exported those that were
-- written last for going back. While there is a row of the kind key, keys of that gateway are looked up.
CREATE TABLE takeovers (
    kind       TEXT NOT NULL,
    foreign_id TEXT NOT NULL,
    id         TEXT NOT NULL,
    taken      TEXT NOT NULL,
    exported   TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (kind, foreign_id)
);
