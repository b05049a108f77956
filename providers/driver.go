package providers

import "modelgateway/config"

// Driver describes a provider and makes it. Each provider's folder has one;
// providers/all lists them.
type Driver struct {
	config.ProviderSettings
	OTelName  string // in the semantic conventions of OpenTelemetry; empty: Name
	Simulated bool   // providers/simulator can simulate it
	Images    Images
	New       func(Options) Provider
}

// Images bound the tokens of the pictures in a request.
type Images struct {
	MaxTokens int64 // upper bound of one picture
	// IsImage reports whether the provider can take the address of a picture for
	// nothing else, such as a video; nil: always.
	IsImage func(address string) bool
}
