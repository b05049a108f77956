package cli

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"modelgateway/api"
)

func (p *Program) providers() *cobra.Command {
	c := &cobra.Command{
		Use:   "providers",
		Short: "Show the providers of the running gateway: keys, circuits, the last hour",
		Long: `Show the providers of the running gateway: their keys and circuits, and the calls of the
last hour. Only its process knows them, so the gateway of these settings has to run: it is
asked at its PORT, as an administrator, with a token that JWT_SECRET signs for a minute.`,
	}
	o := p.output(c, "print the names of the configured providers only")
	url := c.Flags().String("url", "", "ask the gateway at this URL, such as another replica with the same JWT_SECRET")
	return p.action(c, p.reads(o, func(ctx context.Context, s *session, _ []string) error {
		gateway, err := s.gateway(ctx, *url)
		if err != nil {
			return err
		}
		var list api.ProviderList
		if err := gateway.Read(ctx, "/admin/providers", &list); err != nil {
			return err
		}
		return o.show(list, func() error { return o.providers(&list) })
	}))
}

func (o *output) providers(list *api.ProviderList) error {
	var rows, keys, events [][]string
	for i := range list.Data {
		p := &list.Data[i]
		if !p.Configured {
			continue
		}
		hour := &p.LastHour
		rows = append(rows, []string{
			p.Name, p.Status, p.Circuit, fmt.Sprint(len(p.Keys)), fmt.Sprint(p.Models), thousands(hour.Calls), thousands(hour.Failed),
			shortTime(hour.FirstToken.P50), shortTime(hour.FirstToken.P95),
		})
		for j := range p.Keys {
			k := &p.Keys[j]
			if k.State != "in_use" || k.Circuit != "closed" {
				keys = append(keys, []string{
					p.Name, "…" + k.Key, k.State, "circuit " + k.Circuit, cmp.Or(string(k.Reason), none), localOr(k.Until, none),
				})
			}
		}
		const shown = 5
		for _, e := range p.Recent[:min(len(p.Recent), shown)] {
			events = append(events, []string{local(e.At), p.Name, "…" + e.Key, e.Event, fmt.Sprintf("%d×", e.Times), e.Detail})
		}
	}
	header := []string{"PROVIDER", "STATUS", "CIRCUIT", "KEYS", "MODELS", "CALLS", "FAILED", "P50", "P95"}
	if err := o.table(header, rows); err != nil || o.quiet {
		return err
	}
	for _, part := range [][][]string{keys, events} {
		if len(part) > 0 {
			_, _ = fmt.Fprintln(o.out)
			if err := o.align(part); err != nil {
				return err
			}
		}
	}
	o.note("of replica %s, in the last hour; P50 and P95 are times to the first token", list.Replica)
	return nil
}

// shortTime is a time for people.
func shortTime(n *int64) string {
	if n == nil {
		return none
	}
	d := time.Duration(*n) * time.Millisecond
	if d < time.Second {
		return fmt.Sprintf("%d ms", *n)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
