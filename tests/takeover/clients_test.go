package takeover

import (
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	baranov "github.com/sashabaranov/go-openai"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/litellmtest"
)

// clientsGateway is a gateway that took over a LiteLLM and runs with the files that this wrote. Its client does not compare answers with
// the OpenAPI document, which has only the gateway's own paths.
type clientsGateway struct {
	*gatewaytest.Program
	upstream *gatewaytest.Recorder
	company  *litellmtest.Company
	db       *sql.DB
}

func clientsStart(t *testing.T, storage []string) *clientsGateway {
	t.Helper()
	d := litellmtest.Create(t, "newest")
	g := &clientsGateway{company: d.Fill(t)}
	settings := d.TakeOver(t, append(slices.Clone(storage), gatewaytest.JWTSecret))
	if !slices.Contains(settings, "REQUIRE_AUTH=true") {
		t.Errorf("keys are not required: %q", settings)
	}
	p, upstream := gatewaytest.StartRecorded(t, settings...)
	g.Program, g.upstream, g.db = routesPlain(t, p), upstream, gatewaytest.OpenDatabase(t, storage)
	return g
}

// Each client calls with keys of a user, of a user in a team, and of a team, and with those names of models that it had.
func TestClientsGoOnWithAKeyOfLiteLLM(t *testing.T) {
	t.Parallel()
	gatewaytest.EachStorage(t, func(t *testing.T, storage []string) {
		g := clientsStart(t, storage)
		for owner, of := range map[string]struct{ user, team bool }{"user": {true, false}, "user in a team": {true, true}, "team": {false, true}} {
			k, calls := g.company.FreeKey(t, of.user, of.team), 0
			for client, test := range map[string]func(t *testing.T, key string) (calls int){
				"OpenAI's SDK": g.openAI, "a client for Azure": g.azure, "Anthropic's SDK": g.anthropic, "curl": g.curl,
			} {
				t.Run(client+" with a key of a "+owner, func(t *testing.T) {
					calls += test(t, k.Text)
					g.booked(t, k, calls)
					for _, sent := range g.upstream.Take() {
						if strings.Contains(fmt.Sprint(sent.Header), k.Text) {
							t.Errorf("%s: the key was sent to the provider", sent.Path)
						}
					}
				})
			}
		}
		if a := g.Chat(t, gatewaytest.HelloRequest, bearer(g.company.DeletedKey)...); a.Status != 401 {
			t.Errorf("a key that was deleted there: %d %s", a.Status, a.Body)
		}
	})
}

// booked requires that the ledger has so many calls of a key, each under its user and its team.
func (g *clientsGateway) booked(t *testing.T, k *litellmtest.Key, calls int) {
	t.Helper()
	id := func(query, of string) (id string) {
		if of == "" {
			return ""
		}
		if err := g.db.QueryRowContext(t.Context(), query+"'"+of+"'").Scan(&id); err != nil {
			t.Fatalf("%s%s: %v", query, of, err)
		}
		return id
	}
	key := id("SELECT id FROM api_keys WHERE hash = 'litellm:' || ", k.Token)
	user := id("SELECT u.id FROM users u JOIN takeovers t ON t.id = u.id WHERE kind = 'user' AND foreign_id = ", k.UserID)
	team := id("SELECT g.id FROM teams g JOIN takeovers t ON t.id = g.id WHERE kind = 'team' AND foreign_id = ", k.TeamID)
	of := "SELECT count(*) FROM ledger_calls WHERE key_id = '" + key + "'"
	gatewaytest.Until(t, "the ledger has every call", func() bool { return gatewaytest.Sum(t, g.db, of) >= int64(calls) })
	complete := fmt.Sprintf("%s AND user_id = '%s' AND team_id = '%s' AND status = 200 AND priced AND input_tokens > 0", of, user, team)
	if all, good := gatewaytest.Sum(t, g.db, of), gatewaytest.Sum(t, g.db, complete); all != int64(calls) || good != all {
		t.Errorf("%d calls, of which %d are complete, not %d", all, good, calls)
	}
}

const clientsText = "Hello there"

func (g *clientsGateway) openAI(t *testing.T, key string) (calls int) {
	t.Helper()
	for _, base := range []string{g.URL + "/v1", g.URL} {
		client := openai.NewClient(option.WithBaseURL(base), option.WithAPIKey(key), option.WithHTTPClient(g.Client), option.WithMaxRetries(0))
		ask := openai.ChatCompletionNewParams{Model: "gpt-4o", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(clientsText)}}
		for _, model := range []string{"gpt-4o", "gpt-4-turbo", "claude-sonnet", "gemini-flash"} { // a name of each provider, and an alias
			ask.Model = model
			answer, err := client.Chat.Completions.New(t.Context(), ask)
			if err != nil || !strings.Contains(answer.Choices[0].Message.Content, clientsText) {
				t.Errorf("%s: %v, %+v", model, err, answer)
			}
			stream, together := client.Chat.Completions.NewStreaming(t.Context(), ask), openai.ChatCompletionAccumulator{}
			for stream.Next() {
				together.AddChunk(stream.Current())
			}
			if err := stream.Err(); err != nil || len(together.Choices) == 0 || !strings.Contains(together.Choices[0].Message.Content, clientsText) {
				t.Errorf("%s: %v, %+v", model, err, together)
			}
			calls += 2
		}
		vectors, err := client.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
			Model: "text-embedding-3-small", Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(clientsText)},
		})
		if err != nil || len(vectors.Data) != 1 || len(vectors.Data[0].Embedding) == 0 {
			t.Errorf("%v, %+v", err, vectors)
		}
		made, err := client.Responses.New(t.Context(), responses.ResponseNewParams{
			Model: "gpt-4.1", Store: openai.Bool(false), Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(clientsText)},
		})
		if err != nil || !strings.Contains(made.OutputText(), clientsText) {
			t.Errorf("%v, %+v", err, made)
		}
		calls += 2
		list, err := client.Models.List(t.Context())
		for _, want := range []string{"gpt-4o", "claude-sonnet", "db-claude"} {
			if err != nil || !slices.ContainsFunc(list.Data, func(m openai.Model) bool { return m.ID == want }) {
				t.Errorf("no %s: %v, %+v", want, err, list)
			}
		}
	}
	return calls
}

func (g *clientsGateway) azure(t *testing.T, key string) (calls int) {
	t.Helper()
	config := baranov.DefaultAzureConfig(key, g.URL)
	config.AzureModelMapperFunc = func(model string) string { return model }
	config.HTTPClient = g.Client
	client := baranov.NewClientWithConfig(config)
	ask := baranov.ChatCompletionRequest{Model: "gpt-4o", Messages: []baranov.ChatCompletionMessage{{Role: "user", Content: clientsText}}}
	answer, err := client.CreateChatCompletion(t.Context(), ask)
	if err != nil || !strings.Contains(answer.Choices[0].Message.Content, clientsText) {
		t.Errorf("%v, %+v", err, answer)
	}
	stream, err := client.CreateChatCompletionStream(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	text := ""
	for chunk, err := stream.Recv(); err == nil; chunk, err = stream.Recv() {
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
		}
	}
	if !strings.Contains(text, clientsText) {
		t.Errorf("streamed %q", text)
	}
	vectors, err := client.CreateEmbeddings(t.Context(), baranov.EmbeddingRequest{Model: "text-embedding-3-small", Input: []string{clientsText}})
	if err != nil || len(vectors.Data) != 1 {
		t.Errorf("%v, %+v", err, vectors)
	}
	return 3
}

func (g *clientsGateway) anthropic(t *testing.T, key string) (calls int) {
	t.Helper()
	for _, base := range []string{g.URL, g.URL + "/anthropic"} {
		for name, credential := range map[string]anthropicoption.RequestOption{
			"x-api-key": anthropicoption.WithAPIKey(key), "a token": anthropicoption.WithAuthToken(key),
		} {
			client := anthropic.NewClient(anthropicoption.WithBaseURL(base), credential, anthropicoption.WithHTTPClient(g.Client),
				anthropicoption.WithMaxRetries(0))
			ask := anthropic.MessageNewParams{
				Model: "claude-sonnet", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(clientsText))},
			}
			answer, err := client.Messages.New(t.Context(), ask)
			if err != nil || !strings.Contains(answer.RawJSON(), clientsText) {
				t.Errorf("%s with %s: %v, %+v", base, name, err, answer)
			}
			stream, together := client.Messages.NewStreaming(t.Context(), ask), anthropic.Message{}
			for stream.Next() {
				if err := together.Accumulate(stream.Current()); err != nil {
					t.Fatal(err)
				}
			}
			if err := stream.Err(); err != nil || len(together.Content) == 0 || !strings.Contains(together.Content[0].Text, clientsText) ||
				together.StopReason != anthropic.StopReasonEndTurn {
				t.Errorf("%s with %s: %v, %+v", base, name, err, together)
			}
			counted, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: ask.Model, Messages: ask.Messages})
			if err != nil || counted.InputTokens == 0 {
				t.Errorf("%s with %s: %v, %+v", base, name, err, counted)
			}
			calls += 2
		}
	}
	return calls
}

func (g *clientsGateway) curl(t *testing.T, key string) (calls int) {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	const messages = `"messages":[{"role":"user","content":"` + clientsText + `"}]`
	run := func(header, path, body, want string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
		defer cancel()
		arguments := []string{"--silent", "--show-error", "--no-buffer", "--fail-with-body", "--noproxy", "*", "-H", header, g.URL + path}
		if body != "" {
			arguments = append(arguments, "-H", "Content-Type: application/json", "-d", body)
			calls++
		}
		if out, err := exec.CommandContext(ctx, curl, arguments...).CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s %s: %v, no %q in %s", strings.TrimSuffix(header, key), path, err, want, out)
		}
	}
	for _, header := range []string{"Authorization: Bearer ", "X-Api-Key: ", "Api-Key: ", "X-Litellm-Api-Key: ", "X-Litellm-Api-Key: Bearer "} {
		header += key
		for _, base := range []string{"/v1", ""} {
			run(header, base+"/chat/completions", `{"model":"gpt-4o",`+messages+`}`, clientsText)
			run(header, base+"/chat/completions", `{"model":"gpt-4o","stream":true,`+messages+`}`, "data: [DONE]")
			run(header, base+"/embeddings", `{"model":"text-embedding-3-small","input":"hi"}`, `"embedding":[`)
			run(header, base+"/models", "", `"claude-sonnet"`)
			run(header, base+"/model/info", "", `"model_name":"claude-sonnet"`)
		}
		run(header, "/v1/messages", `{"model":"claude-sonnet","max_tokens":100,`+messages+`}`, clientsText)
		run(header, "/v1/messages", `{"model":"claude-sonnet","max_tokens":100,"stream":true,`+messages+`}`, "event: message_stop")
		run(header, "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21", `{`+messages+`}`, clientsText)
		run(header, "/key/info", "", `"blocked":false`)
	}
	return calls
}
