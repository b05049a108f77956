package providers

import (
	"context"
	"net/http"

	"modelgateway/catalog"
	"modelgateway/config"
)

// Preset is a server with the API of a driver, known by its name. It needs only a key
// or an address. providers/all lists them.
type Preset struct {
	config.ProviderSettings
	Type     string // the name of the driver
	OTelName string // in the semantic conventions of OpenTelemetry; empty: Name
	// Facts is the provider whose models it serves under the same names, so that their
	// prices and limits hold; empty: none.
	Facts    string
	Owner    func(id string) (provider, name string) // see catalog.Preset
	Regional func(region, id string) bool            // see catalog.Preset
	Rules    []catalog.Rule                          // traits of its models; tried before those of Type
	Sign     Sign                                    // nil: the driver's own way
	Login    Login                                   // signs where there is no key; nil: nothing does
	New      func(Options) Provider                  // nil: that of Type
	Server   Server
}

// Login makes the log-in of an account of a cloud. secret is that of Account.Secret. Its error is
// one of the settings.
type Login func(account catalog.Account, secret config.Secret) (LogIn, error)

// LogIn signs calls with credentials that renew themselves.
type LogIn interface {
	Sign(ctx context.Context, r *http.Request, key string, body [][]byte) error
	Check(ctx context.Context) error // gets a credential, unless there is a valid one
}

// Server says how a server differs from the API that it copies.
type Server struct {
	// ListsAll says that its list has models of many vendors: what they are for is told
	// by other members and other parts of their names than in OpenAI's own list.
	ListsAll bool
	// ListsNone says that its list is not one of models that can be called.
	ListsNone bool
	// Takes names members beyond OpenAI's that it reads: top_k, thinking and
	// cache_control of a request, reasoning_details and cache_control in its messages.
	// Others are left out, and named where that is a loss.
	Takes []string
	// Lacks names members of OpenAI's requests that it refuses or does not read, also
	// messages[].name. They are left out and named. Usage must come by itself where
	// stream_options is one of them.
	Lacks []string
	// Renames has its names of members of OpenAI's requests.
	Renames map[string]string
	// Reasoning is the member of an assistant's message in which it takes its reasoning
	// back; empty: it takes none.
	Reasoning string
	// CallIDs is the length of the ids of tool calls, of letters and digits, where it
	// takes no others; 0: it takes any.
	CallIDs int
	// SystemRole says that messages of the role developer are sent as system.
	SystemRole bool
	// ChatOnly says that it is called by chat completions only: of the Responses API
	// servers have a part, or nothing.
	ChatOnly bool
	// NoEmbeddings says that it has no models for embeddings.
	NoEmbeddings bool
}

// LacksName is the name of messages[].name in Server.Lacks.
const LacksName = "messages[].name"
