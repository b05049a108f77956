package api

// SettingList is the answer of GET /admin/settings.
type SettingList struct {
	Object    string           `json:"object"` // settings
	Version   string           `json:"version"`
	StartedAt int64            `json:"started_at"` // Unix seconds, of this replica
	Data      []Setting        `json:"data"`
	Warnings  []SettingWarning `json:"warnings"`
}

// Setting is a setting that is in effect.
type Setting struct {
	Name        string `json:"name"`
	Group       string `json:"group"`
	Description string `json:"description"`
	Value       Maybe  `json:"value"` // null for a secret, and where it is empty
	Default     Maybe  `json:"default"`
	Source      string `json:"source"` // environment, file or default
	Secret      bool   `json:"secret"`
	Set         bool   `json:"set"`   // by the operator
	Count       *int   `json:"count"` // of a list of secrets that is set, else null
}

// SettingWarning is what an operator should know about a setting.
type SettingWarning struct {
	Setting Maybe  `json:"setting"` // null: none in particular
	Message string `json:"message"`
}
