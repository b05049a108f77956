package models

// Team is the team with this id, or ErrNotFound.
func (t *Transaction) Team(id string) (*Team, error) { return take[Team](t.db.Where("id = ?", id)) }

// CreateTeam adds a team; ErrTaken when another has its name.
func (t *Transaction) CreateTeam(team *Team) error { return mapError(t.db.Create(team).Error) }

// UpdateTeam stores the differences between a team and what it was before; ErrTaken
// when another team has its name.
func (t *Transaction) UpdateTeam(before, after *Team) error {
	columns := columnChanges{}
	columns.compare("name", before.Name, after.Name)
	columns.compareLimits(&before.Limits, &after.Limits)
	if len(columns) == 0 {
		return nil
	}
	return mapError(t.db.Model(&Team{}).Where("id = ?", after.ID).UpdateColumns(map[string]any(columns)).Error)
}

// DeleteTeam deletes a team with its memberships and invitations, and revokes its
// keys, which it returns. The rows and the sums of the ledger stay.
func (t *Transaction) DeleteTeam(id string, at int64) ([]Key, error) {
	if err := t.db.Where("team_id = ?", id).Delete(&OneTimeToken{}).Error; err != nil {
		return nil, err
	}
	if err := t.db.Where("id = ?", id).Delete(&Team{}).Error; err != nil { // memberships go with it
		return nil, err
	}
	return t.revoke(at, "team_id = ?", id)
}

// Member is a user's membership of a team, or ErrNotFound.
func (t *Transaction) Member(teamID, userID string) (*TeamMember, error) {
	return take[TeamMember](t.db.Where("team_id = ? AND user_id = ?", teamID, userID))
}

// AddMember adds a user to a team; ErrTaken when the user is a member already. Both
// must exist.
func (t *Transaction) AddMember(m *TeamMember) error { return mapError(t.db.Create(m).Error) }

// SetRole changes what a member of a team may do.
func (t *Transaction) SetRole(m *TeamMember, role Role) error {
	return t.db.Model(&TeamMember{}).Where("team_id = ? AND user_id = ?", m.TeamID, m.UserID).UpdateColumn("role", role).Error
}

// RemoveMember ends a membership, and revokes the user's keys in the team, which it
// returns. The keys of the team alone stay.
func (t *Transaction) RemoveMember(m *TeamMember, at int64) ([]Key, error) {
	if err := t.EndMembership(m); err != nil {
		return nil, err
	}
	return t.revoke(at, "team_id = ? AND user_id = ?", m.TeamID, m.UserID)
}

// EndMembership is RemoveMember for a user whose keys in the team stay.
func (t *Transaction) EndMembership(m *TeamMember) error {
	return t.db.Where("team_id = ? AND user_id = ?", m.TeamID, m.UserID).Delete(&TeamMember{}).Error
}

// Managers is the number of managers of a team.
func (t *Transaction) Managers(teamID string) (n int64, err error) {
	err = t.db.Model(&TeamMember{}).Where("team_id = ? AND role = ?", teamID, RoleManager).Count(&n).Error
	return n, err
}

// Unmanaged returns the names of the teams of which a user is the only manager, though
// they have other members: of all teams, or of one.
func (t *Transaction) Unmanaged(userID, teamID string) ([]string, error) {
	q := t.db.Table("team_members AS m").Joins("JOIN teams ON teams.id = m.team_id").
		Where("m.user_id = ? AND m.role = ?", userID, RoleManager).
		Where("EXISTS (SELECT 1 FROM team_members o WHERE o.team_id = m.team_id AND o.user_id <> m.user_id)").
		Where("NOT EXISTS (SELECT 1 FROM team_members o WHERE o.team_id = m.team_id AND o.user_id <> m.user_id AND o.role = ?)", RoleManager)
	if teamID != "" {
		q = q.Where("m.team_id = ?", teamID)
	}
	var names []string
	err := q.Order("teams.name").Pluck("teams.name", &names).Error
	return names, err
}

// HasTeam says whether a team has this name.
func (t *Transaction) HasTeam(name string) (bool, error) {
	var n int64
	err := t.db.Model(&Team{}).Where("name = ?", name).Count(&n).Error
	return n > 0, err
}
