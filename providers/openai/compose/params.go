package compose

import (
	"slices"

	"modelgateway/llm"
)

// serviceTiers are OpenAI's.
var serviceTiers = []string{"auto", "default", "flex", "priority", "scale"}

// ServiceTier is the wanted one where it is OpenAI's.
func (c *Draft) ServiceTier() string {
	wanted := c.Request.ServiceTier
	if slices.Contains(serviceTiers, wanted) {
		return wanted
	}
	c.IgnoreIf(wanted != "", llm.FieldServiceTier)
	return ""
}

// Limit is the output limit, nil where there is none. One beyond the model's own is
// refused upstream, so the model's is sent.
func (c *Draft) Limit() *int64 {
	limit := c.Request.MaxOutput
	if bound := c.Model.MaxOutput; limit != nil && bound > 0 && *limit > bound {
		c.IgnoreIf(true, llm.FieldMaxOutput)
		return &bound
	}
	return limit
}

// UserID is the name of an end user, hashed where it is longer than OpenAI
// takes.
func UserID(id string) string {
	const longest = 64 // bytes
	if len(id) <= longest {
		return id
	}
	return Hash(id)
}

// NonZero says whether a number is given that is not 0.
func NonZero(n *float64) bool { return n != nil && *n != 0 }
