package alternating

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/llm"
)

// said is a source of a conversation that no chat request can say.
type said struct {
	llm.Source
	conversation llm.Conversation
}

func (s said) Conversation() (*llm.Conversation, error) { return &s.conversation, nil }

func saying(role llm.Role, blocks ...llm.Block) llm.Message {
	return llm.Message{Role: role, InPlace: role == llm.RoleInstructions, Blocks: blocks}
}

func text(s string) llm.Block { return llm.Block{Kind: llm.BlockText, Text: s} }

func called(id string) llm.Block {
	return llm.Block{Kind: llm.BlockCall, Call: &llm.Call{ID: id, ClientID: id, Name: "f", Arguments: jsontext.Value(`{}`)}}
}

func answered(id string) llm.Block {
	return llm.Block{Kind: llm.BlockResult, Result: &llm.Result{ID: id, ClientID: id}}
}

func TestInstructionsInTheMiddleStayInTheTurnBesideThem(t *testing.T) {
	const user, assistant, instructions = llm.RoleUser, llm.RoleAssistant, llm.RoleInstructions
	for name, tt := range map[string]struct {
		messages []llm.Message
		want     string
	}{
		"before the conversation": {
			[]llm.Message{saying(instructions, text("s")), saying(user, text("q"))}, "[s] U(q)",
		},
		"behind the user": {
			[]llm.Message{saying(user, text("q")), saying(instructions, text("s"))}, "U(q)(<system>\ns\n</system>)",
		},
		"before the user": {
			[]llm.Message{saying(user, text("q")), saying(assistant, text("a")), saying(instructions, text("s")), saying(user, text("r"))},
			"U(q) A(a) U(<system>\ns\n</system>)(r)",
		},
		"between two answers": {
			[]llm.Message{saying(user, text("q")), saying(assistant, text("a")), saying(instructions, text("s"), text(" ")),
				saying(assistant, text("b"))},
			"U(q) A(a) U(<system>\ns\n</system>) A(b)",
		},
		"between a call and its result": {
			[]llm.Message{
				saying(user, text("q")), saying(assistant, called("1"), called("2")), saying(instructions, text("s")),
				saying(user, text("then"), answered("2")), saying(instructions, text("t")), saying(user, answered("1")),
			},
			"U(q) A{1}{2} U<1><2>(<system>\ns\n</system>)(then)(<system>\nt\n</system>)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Fold(&llm.Request{Source: said{conversation: llm.Conversation{Messages: tt.messages}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(c); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// shown is a conversation in short.
func shown(c *Conversation) string {
	var b strings.Builder
	for _, s := range c.System {
		b.WriteString("[" + s.Text + "]")
	}
	for _, turn := range c.Turns {
		b.WriteString(map[bool]string{true: " A", false: " U"}[turn.Assistant])
		for _, block := range turn.Blocks {
			switch {
			case block.Call != nil:
				b.WriteString("{" + block.Call.ID + "}")
			case block.Result != nil:
				b.WriteString("<" + block.Answers.ID + ">")
			default:
				b.WriteString("(" + block.Text + ")")
			}
		}
	}
	return strings.TrimSpace(b.String())
}
