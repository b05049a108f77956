package anthropic

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/catalog"
	"modelgateway/internal/jsonbytes"
	"modelgateway/llm"
)

// fitting finds what of a request has to be changed for a cloud. The prompt stays as it is.
type fitting struct {
	surface *Surface
	cloud   string // in messages
	model   *catalog.Model
	counts  bool // the tokens of the prompt are asked for, no answer
	raw     []byte

	betas   []string
	limited bool // the request has max_tokens

	changes []replacement
	headers []llm.Header
	ignored []string // in the client's words
}

// replacement replaces a place of a body.
type replacement struct {
	at   jsonbytes.Span
	with []byte
}

const betaHeader, betaMember = "Anthropic-Beta", "anthropic_beta"

// request reads the members of a body and the betas of its header.
func (f *fitting) request(found marks, headers []llm.Header) error {
	if found.objects {
		if o := (objects{raw: f.raw, none: true}); o.body() {
			return f.refuse(o.path, "names an object that is stored at Anthropic: send the content itself")
		}
	}
	for _, h := range headers {
		if h.Name == betaHeader {
			f.addBetas(strings.Split(h.Value, ","))
		}
	}
	first := jsonbytes.Span{From: bytes.IndexByte(f.raw, '{') + 1} // up to the end of the first member, where that is cut
	last := first.From
	for name, value := range jsonbytes.MembersAt(f.raw, 0) {
		cut, err := f.member(name.String(), value)
		switch {
		case err != nil:
			return err
		case cut && last == first.From:
			first.To = value.To
		case cut:
			f.changes = append(f.changes, replacement{at: jsonbytes.Span{From: last, To: value.To}})
		}
		last = value.To
	}
	head := f.head()
	if first.To == 0 {
		first.To, head = first.From, append(head, ',')
	}
	f.changes = append([]replacement{{first, head}}, f.changes...)
	return nil
}

// head is the members that the cloud wants and Anthropic does not.
func (f *fitting) head() []byte {
	w := append(make(jsonbytes.Writer, 0, 64), '{').Text("anthropic_version", f.surface.Version)
	switch {
	case f.surface.InvokesModel && len(f.betas) > 0:
		w = w.ListAt(betaMember)
		for _, beta := range f.betas {
			w = jsonbytes.AppendString(w.Comma(), beta)
		}
		w = w.EndList()
	case !f.counts && len(f.betas) > 0:
		f.headers = []llm.Header{{Name: betaHeader, Value: strings.Join(f.betas, ",")}}
	}
	switch {
	case f.counts && !f.surface.InvokesModel:
		w = w.Text("model", f.surface.CountModel(f.model.Upstream))
	case f.counts && !f.limited: // a call has one
		const usual = 4096
		w = w.Int("max_tokens", cmp.Or(f.model.MaxOutput, usual))
	}
	return w[1:]
}

// preferences are members whose loss does not change what an answer says, with the value that has
// no effect.
var preferences = map[string]string{"service_tier": `"auto"`, "speed": `"standard"`, "diagnostics": "{}", "fallbacks": "[]"}

// member reads a member, and says whether it is left out.
func (f *fitting) member(name string, at jsonbytes.Span) (cut bool, err error) {
	value := jsontext.Value(at.Of(f.raw))
	idle, isPreference := preferences[name]
	switch {
	case name == "model", name == "anthropic_version", name == "stream" && f.surface.InvokesModel:
		return true, nil
	case name == betaMember:
		for beta := range jsonbytes.Elements(value) {
			f.addBetas([]string{jsonbytes.Text(beta)})
		}
		return true, nil
	case isPreference:
		if llm.Given(value) && string(value) != idle {
			f.ignored = append(f.ignored, name)
		}
		return true, nil
	case name == "max_tokens":
		f.limited = true
	case name == "output_config":
		// Of this model only, effort is a beta at Bedrock.
		if strings.Contains(f.model.Upstream, "opus-4-5") && llm.Given(jsonbytes.Member(value, "effort")) {
			f.addBetas([]string{"effort-2025-11-24"})
		}
	case name == "tools":
		return false, f.tools(at)
	}
	return f.place(name, value)
}

// place refuses what runs at Anthropic or is kept there, or says where a model must run.
func (f *fitting) place(name string, value jsontext.Value) (cut bool, err error) {
	switch name {
	case "container", "mcp_servers", "safeguards":
		if llm.Given(value) && string(value) != "[]" {
			return false, f.refuse(name, "is of Anthropic's own API only: leave it out, or use a model there")
		}
		return true, nil
	case "thread":
		if llm.Given(value) {
			return false, api.ThreadUnsupported(f.cloud + " keeps no conversation")
		}
		return true, nil
	case "inference_geo":
		if llm.Given(value) && string(value) != `"global"` {
			return false, f.refuse(name, "does not choose where a model runs there: its name and the provider's region do")
		}
		return true, nil
	}
	return false, nil
}

// tools refuses tools that the cloud does not run.
func (f *fitting) tools(at jsonbytes.Span) error {
	i := 0
	for tool := range jsonbytes.ElementsAt(f.raw, at.From) {
		for name, value := range jsonbytes.MembersAt(f.raw, tool.From) {
			if !name.Is("type") {
				continue
			}
			kind := jsonbytes.Text(value.Of(f.raw))
			if slices.ContainsFunc(f.surface.Lacks, func(start string) bool { return strings.HasPrefix(kind, start) }) {
				return f.refuse(fmt.Sprintf("tools[%d].type", i), "is "+strconv.Quote(kind)+
					", a tool that runs at Anthropic: leave it out, or use a model there")
			}
			break
		}
		i++
	}
	return nil
}

func (f *fitting) refuse(path, why string) error {
	return api.Invalid(api.CodeUnsupportedValue, path, "%s does not support this: %s %s", f.cloud, path, why)
}

// addBetas adds those that the cloud takes. It refuses a request with any other, also where the
// request does not need it: Claude Code sends some ten.
func (f *fitting) addBetas(betas []string) {
	for _, beta := range betas {
		if beta = strings.TrimSpace(beta); beta == "advanced-tool-use-2025-11-20" {
			beta = "tool-search-tool-2025-10-19" // the part of it that the clouds have
		}
		switch {
		case beta == "" || slices.Contains(f.betas, beta):
		case slices.Contains(f.surface.Betas, beta):
			f.betas = append(f.betas, beta)
		default:
			f.ignored = append(f.ignored, "anthropic-beta: "+beta)
		}
	}
}
