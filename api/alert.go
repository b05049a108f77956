package api

// Alert is an event that was told in one way, or waits for it.
type Alert struct {
	ID       string `json:"id"` // that the receiver got
	Object   string `json:"object"`
	Event    string `json:"event"`
	Way      string `json:"way"` // webhook or mail
	About    string `json:"about"`
	Text     string `json:"text"` // for people
	At       int64  `json:"at"`
	State    string `json:"state"` // waiting, delivered or failed
	Attempts int    `json:"attempts"`
	NextTry  *int64 `json:"next_try"` // null: it is ended
	Error    Maybe  `json:"error"`    // of the last attempt
}

// AlertWay is a way in which alerts are sent.
type AlertWay struct {
	Way     string `json:"way"`
	Setting string `json:"setting"`
	To      Maybe  `json:"to"` // null: it is not configured
}

// AlertList is the body of GET /admin/alerts.
type AlertList struct {
	Page[Alert]
	Ways []AlertWay `json:"ways"`
}

// NewProviderTrial is the body of POST /admin/providers/try.
type NewProviderTrial struct {
	Preset string `json:"preset"` // a name of GET /admin/providers
	Key    string `json:"key"`
}

// ProviderTrial says whether the models of a provider could be read with a key.
type ProviderTrial struct {
	Object string `json:"object"`
	Preset string `json:"preset"`
	Works  bool   `json:"works"`
	Models int    `json:"models"`
	Error  Maybe  `json:"error"` // the provider's, without the key
}
