// Package web holds what the gateway shows to people and to generators of
// clients: its OpenAPI document and a page made of it.
package web

import _ "embed"

//go:embed openapi.yaml
var document string

// OpenAPI is the OpenAPI 3.1 document of every endpoint, in YAML
// (application/yaml). Each call returns a copy.
func OpenAPI() []byte { return []byte(document) }
