package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"modelgateway/api"
	"modelgateway/app"
	"modelgateway/providers/sse"
)

// chatted is a request of the chat command.
type chatted struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream,omitzero"`
	Options  *chatOptions  `json:"stream_options,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func (p *Program) chat() *cobra.Command {
	c := &cobra.Command{
		Use:   "chat [--model MODEL] [PROMPT]",
		Short: "Ask a model through the running gateway; the prompt is the argument or standard input",
		Long: `Ask a model through the running gateway, and print its answer while it comes. The prompt
is the arguments, or standard input. The key of the gateway is read from the environment
variable ` + keyVariable + `; a gateway with REQUIRE_AUTH=false needs none.
Tokens, cost and time are printed to standard error at the end.`,
		Example: "  modelgateway chat --model claude-haiku-4-5-20251001 'What is a gateway?'\n  git diff | modelgateway chat --system 'Review this change'",
		Args:    cobra.ArbitraryArgs,
	}
	o := p.output(c, "print the answer only")
	model := c.Flags().StringP("model", "m", "", "the model; without it the first that can be used")
	system := c.Flags().StringP("system", "s", "", "the system prompt")
	at := c.Flags().String("url", "", "the URL of the gateway; without it that of these settings on this machine")
	return p.action(c, func(ctx context.Context, args []string) error {
		prompt, err := p.prompt(args)
		if err != nil {
			return err
		}
		gateway, err := p.gateway(*at)
		if err != nil {
			return err
		}
		ask := chatted{Model: *model, Stream: !o.json}
		if ask.Model == "" {
			if ask.Model, err = firstModel(ctx, gateway); err != nil {
				return err
			}
		}
		if *system != "" {
			ask.Messages = append(ask.Messages, chatMessage{"system", *system})
		}
		ask.Messages = append(ask.Messages, chatMessage{"user", prompt})
		return o.chat(ctx, gateway, ask)
	})
}

// prompt is the text of the arguments, or of standard input.
func (p *Program) prompt(args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "" {
		read, err := io.ReadAll(p.In)
		if err != nil {
			return "", fmt.Errorf("read the prompt: %w", err)
		}
		text = string(read)
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the prompt is empty: name it as the argument, or pass it on standard input")
	}
	return text, nil
}

// firstModel is the first chat model that the caller can use.
func firstModel(ctx context.Context, gateway *app.Running) (string, error) {
	var list api.ModelList
	if err := gateway.Read(ctx, "/v1/models?available=true", &list); err != nil {
		return "", withKeyAdvice(err)
	}
	for i := range list.Data {
		if m := &list.Data[i]; m.Kind == "chat" && m.State == "active" {
			return m.ID, nil
		}
	}
	return "", errors.New("there is no model that can be used: `modelgateway models` lists them, and `modelgateway check` says what is missing")
}

// withKeyAdvice says where the key comes from, where it is the key that is refused.
func withKeyAdvice(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Status == http.StatusUnauthorized {
		return fmt.Errorf("%s: set %s to a key of the gateway, such as `modelgateway key create` makes", e.Message, keyVariable)
	}
	return err
}

// chat sends a request and prints the answer.
func (o *output) chat(ctx context.Context, gateway *app.Running, ask chatted) error {
	began := time.Now()
	if ask.Stream {
		ask.Options = &chatOptions{IncludeUsage: true}
	}
	resp, err := gateway.Send(ctx, http.MethodPost, "/v1/chat/completions", ask)
	if err != nil {
		return withKeyAdvice(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if o.json {
		_, err := io.Copy(o.out, resp.Body)
		_, _ = fmt.Fprintln(o.out)
		return err
	}
	done := answered{began: began, model: ask.Model}
	if err := done.read(o.out, resp.Body); err != nil {
		return err
	}
	took := time.Since(began)
	if !o.quiet {
		o.note("%s", strings.Join(append(done.words(took), callCost(ctx, gateway, resp.Header.Get("X-Request-Id"))...), " · "))
	}
	return nil
}

// answered is what is known of an answer at its end.
type answered struct {
	began         time.Time
	first         time.Duration // until the first text; 0: there was none
	model         string        // that answered
	input, output int64         // tokens
}

// chunk is an event of a stream, as far as it is printed.
type chunk struct {
	Model   string `json:"model"`
	Choices []struct {
		Delta struct {
			Content string `json:"content"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		Input  int64 `json:"prompt_tokens"`
		Output int64 `json:"completion_tokens"`
	} `json:"usage"`
	Error *struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// read prints the text of a stream while it comes.
func (a *answered) read(to io.Writer, from io.Reader) error {
	events := sse.NewReader(from)
	defer events.Close()
	for {
		event, err := events.Next()
		if err != nil {
			return errors.New("the connection to the gateway ended before the end of the answer")
		}
		if string(event.Data) == "[DONE]" {
			_, err := fmt.Fprintln(to)
			return err
		}
		var part chunk
		if err := json.Unmarshal(event.Data, &part, api.Lenient); err != nil {
			return fmt.Errorf("the gateway sent an event that is no JSON: %w", err)
		}
		if e := part.Error; e != nil {
			return &api.Error{Type: e.Type, Code: e.Code, Message: e.Message}
		}
		if part.Model != "" {
			a.model = part.Model
		}
		if part.Usage != nil {
			a.input, a.output = part.Usage.Input, part.Usage.Output
		}
		for _, choice := range part.Choices {
			if text := choice.Delta.Content; text != "" {
				if a.first == 0 {
					a.first = time.Since(a.began)
				}
				if _, err := io.WriteString(to, plain(text)); err != nil {
					return err
				}
			}
		}
	}
}

// plain is a text without what would control a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, text)
}

func (a *answered) words(took time.Duration) []string {
	ms := func(d time.Duration) string { n := d.Milliseconds(); return shortTime(&n) }
	words := []string{a.model, thousands(a.input) + " tokens in, " + thousands(a.output) + " out", ms(took)}
	if a.first > 0 {
		words = append(words, "first token after "+ms(a.first))
	}
	return words
}

// callCost is what a call cost, by the ledger, which has its row a moment later; nothing
// where the caller may not read it.
func callCost(ctx context.Context, gateway *app.Running, requestID string) []string {
	var list struct {
		Data []struct {
			Cost   api.USD `json:"cost_usd"`
			Priced bool    `json:"priced"`
		} `json:"data"`
	}
	const wait, most = 100 * time.Millisecond, 20
	for range most {
		if gateway.Credential == "" || gateway.Read(ctx, "/v1/calls?request_id="+url.QueryEscape(requestID), &list) != nil {
			return nil
		}
		switch {
		case len(list.Data) > 0 && list.Data[0].Priced:
			return []string{dollars(list.Data[0].Cost)}
		case len(list.Data) > 0:
			return []string{"no price is known"}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
	return nil
}
