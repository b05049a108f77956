package simulation

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"modelgateway/tests/longtest"
)

// planted is a fault that is put into the product's code.
type planted struct{ name, file, code, instead string }

// plantedFaults are such that the product's own authors could have made.
func plantedFaults() []planted {
	return []planted{
		{
			"what a call has not cost is returned twice", "services/budget/allowance.go",
			"\tp.release(amount - held)\n", "\tp.release(2 * (amount - held))\n",
		},
		{
			"an allowance is used after its lease has ended", "services/budget/allowance.go",
			"amount == 0 || leaseValid && amount <= p.free", "amount == 0 || amount <= p.free",
		},
		{
			"a grant whose answer is lost is kept", "services/budget/grant_request.go",
			"p.uncertain = true // it may", "// it may",
		},
		{
			"a grant forgets what others hold", "models/budget.go",
			"req.Limit - state.Spent - state.Others -", "req.Limit - state.Spent -",
		},
		{
			"a hold is saved with what has been moved from it", "models/budget.go",
			"SET amount = ? - budget_holds.moved`", "SET amount = ? - 0 * budget_holds.moved`",
		},
		{
			"a window keeps what was spent before it", "models/budget.go",
			"account = @account AND day >= @since AND", "account = @account AND (day >= @since OR TRUE) AND",
		},
		{
			"a batch is counted again when its answer was lost", "models/ledger.go",
			"\tif how.again || former ||",
			"\tif all := sum(calls, former); how.again {\n\t\tif err := all.writeSpent(on); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n" +
				"\tif how.again || former ||",
		},
		{
			"rows of a batch that failed are dropped", "services/ledger/writer.go",
			"\t\t\tl.failed(err)\n", "\t\t\tl.failed(err)\n\t\t\tl.queue.done(len(part))\n\t\t\tbatch = batch[len(part):]\n",
		},
		{
			"the calls of a killed process are forgotten", "models/replica.go",
			"insertCalls(on, calls[of], of,", "insertCalls(on, calls[of][:0], of,",
		},
		{
			"what others have booked is returned by calls", "services/budget/running.go",
			"\tcall.reservation.bookedBefore(cost, now)\n", "\t_ = call\n",
		},
		{
			"a call is not paid from the budget of its team", "services/inference/admit.go",
			"if l := &levels[i]; l.BudgetWindow", "if l := &levels[i]; i < 2 && l.BudgetWindow",
		},
		{
			"what is spent with the keys of a team is not counted", "models/ledger_sums.go",
			"if c.TeamID != \"\" {\n\t\t\ts.spent", "if c.TeamID == \"none\" {\n\t\t\ts.spent",
		},
	}
}

// TestPlantedFaultsHaveAPlace fails when the code of a fault has moved.
func TestPlantedFaultsHaveAPlace(t *testing.T) {
	for _, fault := range plantedFaults() {
		fault.read(t)
	}
}

// read returns the file of the fault and its code, in which the fault has one place.
func (f planted) read(t *testing.T) (file, code string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("../..", f.file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), f.code); n != 1 {
		t.Fatalf("%s has %d places for the fault %q", f.file, n, f.name)
	}
	return file, string(text)
}

// TestPlantedFaultsAreFound builds this package with one fault after the other.
func TestPlantedFaultsAreFound(t *testing.T) {
	longtest.Skip(t)
	found := regexp.MustCompile(`seed \d+ breaks an invariant`)
	for _, fault := range plantedFaults() {
		t.Run(fault.name, func(t *testing.T) {
			out := runWith(t, fault)
			seed := found.FindString(out)
			if seed == "" {
				t.Errorf("not found:\n%s", out)
			}
			t.Log(seed)
		})
	}
}

// runWith runs the simulation with a fault, until it is found.
func runWith(t *testing.T, fault planted) (output string) {
	t.Helper()
	file, code := fault.read(t)
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		changed: strings.Replace(code, fault.code, fault.instead, 1), filepath.Join(dir, "overlay.json"): string(overlay),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "test", "-vet=off", "-count=1", "-timeout=20m", "-run=MoneyIsKept",
		"-overlay="+filepath.Join(dir, "overlay.json"), "./tests/simulation")
	run.Dir = "../.."
	run.Env = append(os.Environ(), "SEEDS=2000", "FAILURES=1", "LONG=", "CGO_ENABLED=0")
	out, err := run.CombinedOutput()
	if err == nil {
		return string(out)
	}
	return string(out[:min(len(out), 2000)])
}
