package providertest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
)

// same says how an outcome differs from the whole one; ids that are made anew
// each time are compared for presence only.
func same(whole, got Outcome) error {
	if len(got.Breaches) > 0 {
		return errors.Join(got.Breaches...)
	}
	a, b := anonymous(whole), anonymous(got)
	if reflect.DeepEqual(a, b) {
		return nil
	}
	return fmt.Errorf("differs from the whole:\nwant %s\ngot  %s", a.brief(), b.brief())
}

func (o Outcome) brief() string {
	text := fmt.Sprintf("%+v others %+v failure %+v usage", o.Choice, o.Others, o.Failure)
	if usage, err := json.Marshal(o.Usage); err == nil {
		text += " " + string(usage)
	}
	return text
}

func anonymous(o Outcome) Outcome {
	o.Choice = o.anonymous()
	o.Others = slices.Clone(o.Others)
	for i := range o.Others {
		o.Others[i] = o.Others[i].anonymous()
	}
	return o
}

func (c Choice) anonymous() Choice {
	c.ToolCalls, c.Details = slices.Clone(c.ToolCalls), slices.Clone(c.Details)
	for i := range c.ToolCalls {
		c.ToolCalls[i].ID = present(c.ToolCalls[i].ID)
	}
	for i := range c.Details {
		c.Details[i].ID = present(c.Details[i].ID)
	}
	return c
}

func present(id string) string {
	if id == "" {
		return ""
	}
	return "present"
}
