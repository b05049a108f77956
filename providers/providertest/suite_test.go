package providertest

import (
	"slices"
	"strings"
	"testing"

	"modelgateway/catalog"
	"modelgateway/providers"
)

// pick are some of the project's own recordings.
func pick(t *testing.T, names ...string) []Recording {
	t.Helper()
	all := slices.DeleteFunc(Load(t, Own()), func(r Recording) bool {
		return r.Provider != catalog.OpenAI || !slices.ContainsFunc(names, func(name string) bool { return r.File == "openai/"+name })
	})
	if len(all) != len(names) {
		t.Fatalf("found %d of the recordings %v", len(all), names)
	}
	return all
}

func suiteOf(f flaws) suite {
	return suite{
		driver: func(baseURL string) providers.Provider { return fake{url: baseURL, flaws: f} },
		derive: fakeModel,
	}
}

// faults are what the suite says of a provider with some flaws.
func faults(t *testing.T, f flaws, names ...string) string {
	t.Helper()
	var said []string
	for _, rec := range pick(t, names...) {
		const most = 600
		_, faults := suiteOf(f).check(t, rec, most)
		for _, fault := range faults {
			said = append(said, rec.File+": "+fault.Error())
		}
	}
	return strings.Join(said, "\n")
}

func TestSuiteAcceptsACorrectProvider(t *testing.T) {
	said := faults(t, flaws{}, "answer.json", "tool_answer.json", "tool_without_arguments_answer.json", "n2_answer.json",
		"stream.sse", "tool_stream.sse", "n2_stream.sse", "error_mid_stream.sse", "error_first_stream.sse",
		"truncated_stream.sse", "error_401.json", "error_429.json", "error_500.json")
	if said != "" {
		t.Error(said)
	}
	for _, fault := range suiteOf(flaws{}).leaving(t, pick(t, "stream.sse")) {
		t.Error(fault)
	}
}

func TestSuiteCatches(t *testing.T) {
	for name, c := range map[string]struct {
		flaws flaws
		file  string
		says  string
	}{
		"a lost fragment":                     {flaws{dropsFragment: true}, "stream.sse", "whole: text differs"},
		"lost arguments":                      {flaws{dropsArguments: true}, "tool_stream.sse", "whole: arguments of tool call 0 differs"},
		"an invented stop":                    {flaws{inventsStop: true}, "truncated_stream.sse", "whole: the outcome is not an error"},
		"a stop invented for a cut":           {flaws{inventsStop: true}, "stream.sse", "it looks like a complete answer"},
		"lost usage":                          {flaws{losesUsage: true}, "stream.sse", "whole: the usage is missing"},
		"events taken for reads":              {flaws{parsesReads: true}, "stream_without_usage.sse", "differs"},
		"a second role":                       {flaws{repeatsRole: true}, "stream.sse", "says its role again"},
		"a changing id":                       {flaws{changesID: true}, "stream.sse", "id, model or created change"},
		"a second finish":                     {flaws{finishesTwice: true}, "stream.sse", "goes on after its finish"},
		"text behind the finish":              {flaws{goesOnAfter: true}, "stream.sse", "goes on after its finish"},
		"an error taken for the end":          {flaws{swallowsErrors: true}, "error_mid_stream.sse", "whole: the outcome is not an error"},
		"the upstream's 401":                  {flaws{passes401: true}, "error_401.json", "status 401, want 502"},
		"an error that is not for clients":    {flaws{foreignErrors: true}, "error_500.json", "not one for clients"},
		"a cut answer taken for an empty one": {flaws{takesAnyAnswer: true}, "answer.json", "it passes as an answer"},
		"arguments that are no JSON":          {flaws{emptyArguments: true}, "tool_without_arguments_answer.json", "arguments of tool call 0"},
		"content beside tool calls":           {flaws{nullsNoContent: true}, "tool_answer.json", "empty, not null"},
		"text that was never said":            {flaws{guessesPartials: true}, "stream.sse", "which the whole does not begin with"},
	} {
		t.Run(name, func(t *testing.T) {
			if said := faults(t, c.flaws, c.file); !strings.Contains(said, c.says) {
				t.Errorf("the suite says %q, not %q", said, c.says)
			}
		})
	}
}

func TestSuiteCatchesWorkThatGoesOn(t *testing.T) {
	said := suiteOf(flaws{keepsWorking: true}).leaving(t, pick(t, "stream.sse"))
	if len(said) == 0 {
		t.Error("the suite says nothing")
	}
}

func TestBudgetSpendsNoMoreThanTheWork(t *testing.T) {
	small := Recording{Stream: true, Body: make([]byte, 1000)}
	large := Recording{Stream: true, Body: make([]byte, 500_000)}
	if n := budget([]Recording{small}, work()); n < 2*len(small.Body) {
		t.Errorf("a single small stream is cut %d times only", n)
	}
	all := append(slices.Repeat([]Recording{small}, 40), large)
	const limit = 192 << 20
	n, cost := budget(all, limit), 0
	for _, r := range all {
		cost += min(n, 2*len(r.Body)) * (call + len(r.Body))
	}
	if n < 128 || cost > limit {
		t.Errorf("%d cuts a stream cost %d bytes of %d", n, cost, limit)
	}
}

func TestOffsetsCoverSmallBodiesWhollyAndLargeOnesAtTheirEvents(t *testing.T) {
	body := []byte(strings.Repeat("data: 1\n\n", 50))
	if at := offsets(body, len(body)); len(at) != len(body)-1 || at[0] != 1 {
		t.Errorf("%d offsets for %d bytes, from %d", len(at), len(body), at[0])
	}
	large := []byte(strings.Repeat("data: "+strings.Repeat("x", 992)+"\n\n", 50))
	at := offsets(large, 300)
	if len(at) > 700 || !slices.IsSorted(at) {
		t.Errorf("%d offsets: %v", len(at), at)
	}
	for _, want := range []int{998, 999, 1000, 1001, 1002} {
		if !slices.Contains(at, want) {
			t.Errorf("no cut at %d, near an event's end", want)
		}
	}
}
