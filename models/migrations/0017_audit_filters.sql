-- Pages of the audit of one user, of one target and of one kind of action.
CREATE INDEX audit_actor ON audit (actor_id, id);
CREATE INDEX audit_target ON audit (target, id);
CREATE INDEX audit_action ON audit (action, id);
