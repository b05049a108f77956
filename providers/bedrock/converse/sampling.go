package converse

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// sample sets the limit, and what the model takes of temperature, top_p, top_k and the stop
// sequences. Nova refuses all but the last where it thinks as hard as it can ("must be unset").
func (t *translation) sample() {
	effort := t.think()
	unset := t.family.nova && effort == "high"
	r, out := t.req, &t.out.Inference
	out.MaxTokens, out.Temperature, out.TopP = r.MaxOutput, r.Temperature, r.TopP
	if most := t.model.MaxOutput; r.MaxOutput != nil && r.OutputWish && most > 0 && *r.MaxOutput > most {
		out.MaxTokens = &most
		t.ignoreIf(true, llm.FieldMaxOutput)
	}
	highest := 1.0 // Converse's own
	switch {
	case t.family.noSampling || unset:
		t.ignoreIf(r.Temperature != nil && *r.Temperature != 1, llm.FieldTemperature)
		t.ignoreIf(r.TopP != nil && *r.TopP != 1, llm.FieldTopP)
		out.Temperature, out.TopP = nil, nil
	case r.Temperature != nil && *r.Temperature > highest:
		out.Temperature = &highest
		t.ignoreIf(true, llm.FieldTemperature)
	}
	w := jsonbytes.Writer{'{'}
	if k := r.TopK; k != nil && *k > 0 && t.family.nova && !unset {
		w = w.ObjectAt("inferenceConfig").Int("topK", *k).EndObject()
	} else {
		t.ignoreIf(k != nil, llm.FieldTopK)
	}
	switch name := string(t.family.effort); {
	case effort == "":
	case t.family.effort == effortNova:
		w = w.ObjectAt(name).Text("type", "enabled").Text("maxReasoningEffort", effort).EndObject()
	case t.family.effort == effortOpenAI:
		w = w.ObjectAt(name).Text("effort", effort).EndObject()
	default:
		w = w.Text(name, effort)
	}
	if len(w) > 1 {
		t.out.Additional = jsontext.Value(w.EndObject())
	}
	for _, s := range r.Stop {
		if t.family.noStop || strings.TrimSpace(s) == "" {
			t.ignoreIf(true, llm.FieldStop)
			continue
		}
		out.StopSequences = append(out.StopSequences, s)
	}
}

// efforts are OpenAI's words in those of the models.
var efforts = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}

// think is how hard the model is told to think; empty where it is not told. Nova 2 thinks only
// when it is told to; the others think by themselves. A budget is a high effort from a size on.
func (t *translation) think() string {
	wanted, field, thinking := t.req.Effort, llm.FieldEffort, t.req.Thinking
	switch {
	case thinking == nil:
	case thinking.Type == "disabled":
		wanted, field = "none", llm.FieldThinking
	case wanted == "" || wanted == "none":
		const high = 16_384 // tokens
		wanted, field = "medium", llm.FieldThinking
		if thinking.BudgetTokens >= high {
			wanted = "high"
		}
	}
	sent := efforts[wanted]
	switch off := wanted == "none"; {
	case wanted == "":
	case t.family.effort == "" || off && t.family.effort == effortNova:
		sent = ""
		t.ignoreIf(!off, field)
	case t.family.effort == effortOpenAI && (off || wanted == "xhigh"):
		sent = wanted
	case off:
		sent = "low"
		t.ignoreIf(true, field)
	// "`maxTokens` must be unset when [...] maxReasoningEffort is 'high'": the client's limit, which
	// bounds what the answer costs, comes first.
	case t.family.effort == effortNova && sent == "high" && t.req.MaxOutput != nil:
		sent = "medium"
		t.ignoreIf(true, field)
	default:
		t.ignoreIf(wanted == "xhigh" || wanted == "max", field)
	}
	return sent
}
