package wire

import (
	"modelgateway/catalog"
	"modelgateway/llm"
)

// ThoughtFormat is that of the thoughts of a model. At another address than OpenAI's own it is
// the provider's name: only the same server can take them back.
func ThoughtFormat(m *catalog.Model) llm.ThoughtFormat {
	if m.Provider == catalog.OpenAI {
		return llm.FormatOpenAI
	}
	return llm.ThoughtFormat(m.Provider)
}
