package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/catalog"
	"modelgateway/config"
	"modelgateway/models"
	"modelgateway/services/registry"
)

func (p *Program) models() *cobra.Command {
	c := &cobra.Command{Use: "models [--available] [--discover]", Short: "List the models: provider, context window, prices, state"}
	o := p.output(c, "print the names only")
	available := c.Flags().Bool("available", false, "only models that can be called")
	discover := c.Flags().Bool("discover", false, "ask the providers for their models as well, as a running server does")
	return p.action(c, func(ctx context.Context, _ []string) error {
		cfg, err := app.Settings(p.Environ)
		if err != nil {
			return err
		}
		cfg.DatabaseURL = config.NewSecret(models.InMemory) // none is needed
		return p.with(ctx, o, cfg, func(s *session) error {
			if *discover {
				s.Discover(ctx)
			}
			list := s.Models.List(registry.Query{Available: *available, All: true})
			return o.show(list, func() error { return o.models(list.Data, cfg.Spend.DefaultPrice) })
		})
	})
}

// models prints a table. A model without a price has the standard one, if there is one.
func (o *output) models(list []api.Model, standard *config.Price) error {
	rows := make([][]string, len(list))
	for i := range list {
		m := &list[i]
		input, output := none, none
		switch {
		case m.Price != nil:
			input, output = dollars(m.Price.Input), dollars(m.Price.Output)
		case standard != nil:
			input, output = dollars(api.USD(standard.Input)), dollars(api.USD(standard.Output))
		}
		state := m.State
		if m.ShutdownDate != "" {
			state += " " + m.ShutdownDate
		}
		rows[i] = []string{
			m.ID, m.OwnedBy, yes(m.Available), tokens(m.ContextWindow), input, output, fees(m.Price), state, cmp.Or(m.Successor, none),
		}
	}
	return o.table([]string{"MODEL", "PROVIDER", "AVAILABLE", "CONTEXT", "INPUT/1M", "OUTPUT/1M", "FEES", "STATE", "SUCCESSOR"}, rows)
}

// fees are what a call costs beside tokens, without those of tools that few calls use.
func fees(price *api.ModelPrice) string {
	var all []string
	for _, unit := range []catalog.Unit{catalog.Requests, catalog.Images, catalog.Seconds, catalog.Characters} {
		if name := unit.String(); price != nil && price.Fees[name] > 0 {
			all = append(all, name+" "+strconv.FormatFloat(price.Fees[name], 'f', -1, 64))
		}
	}
	return cmp.Or(strings.Join(all, ", "), none)
}

func tokens(n int64) string {
	if n == 0 {
		return none
	}
	return thousands(n)
}

func (p *Program) codexCatalog() *cobra.Command {
	c := &cobra.Command{
		Use:   "codex-catalog [--url URL] [--with FILE]",
		Short: "Print the models of the running gateway as a model_catalog_json of Codex",
		Long: `Print the models of the running gateway that the caller can use, in the form of Codex' setting
model_catalog_json, which takes the place of its own list. The caller is the key in the environment
variable ` + keyVariable + `, else the person whom "modelgateway token" has signed in.`,
		Example: "  codex debug models --bundled | modelgateway codex-catalog --with - > ~/.codex/models.json",
	}
	at := c.Flags().String("url", "", "the URL of the gateway; without it that of these settings on this machine")
	with := c.Flags().String("with", "", "a list of the same form, whose models stand before those of the gateway; - is standard input")
	return p.action(c, func(ctx context.Context, _ []string) error {
		gateway, err := p.gateway(*at)
		if err != nil {
			return err
		}
		if here, err := p.signIn(gateway.URL); err == nil && gateway.Credential == "" && here.SignedIn() {
			if gateway.Credential, err = here.Token(ctx); err != nil {
				return err
			}
		}
		list, err := p.codexFile(*with)
		if err != nil {
			return err
		}
		var ours codexList
		if err := gateway.Read(ctx, "/v1/models?client_version="+url.QueryEscape(app.Version()), &ours); err != nil {
			return withKeyAdvice(err)
		}
		if list.add(ours); len(list.Models) == 0 {
			return errors.New("there is no model that Codex does not have in its own list: `codex debug models` shows that")
		}
		text, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.Out, "%s\n", text)
		return err
	})
}

// codexList is a list of models in Codex' form, whose members other than the name are of no interest.
type codexList struct {
	Models []jsontext.Value `json:"models"`
}

// codexFile reads a list of models from a file; an empty name has none.
func (p *Program) codexFile(name string) (list codexList, err error) {
	var text []byte
	switch name {
	case "":
		return list, nil
	case "-":
		text, err = io.ReadAll(p.In)
	default:
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return list, err
	}
	if err := json.Unmarshal(text, &list, api.Lenient); err != nil || len(list.Models) == 0 {
		return list, errors.New("--with: this is no list of models such as `codex debug models --bundled` prints")
	}
	return list, nil
}

// add adds the models of another list that the list does not have.
func (l *codexList) add(other codexList) {
	has := map[string]bool{}
	l.Models = slices.DeleteFunc(slices.Concat(l.Models, other.Models), func(model jsontext.Value) bool {
		var named struct {
			Slug string `json:"slug"`
		}
		repeated := json.Unmarshal(model, &named, api.Lenient) != nil || has[named.Slug]
		has[named.Slug] = true
		return repeated
	})
}
