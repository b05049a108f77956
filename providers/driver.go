package providers

import "modelgateway/config"

// Driver is what the gateway knows of a provider before it speaks with it. Each
// provider's folder has one; providers/all lists them.
type Driver struct {
	config.ProviderSettings
	OTelName  string // in the semantic conventions of OpenTelemetry; empty: Name
	Simulated bool   // providers/simulator can play it
	Images    Images
	New       func(Options) Provider
}

// Images bound the tokens of the pictures in a request.
type Images struct {
	MaxTokens int64 // upper bound of one picture
	// IsImage says whether the address of a picture can be nothing but a picture
	// to the provider; nil: always.
	IsImage func(address string) bool
}
