package console

import "testing"

// TestListsAreSavedAsTables clicks CSV on each list. A file that is saved is said; what is in it
// the tests of the ledger check.
func TestListsAreSavedAsTables(t *testing.T) {
	t.Parallel()
	p := onDesktop(t)
	called(t, p, 3)
	for path, file := range map[string]string{
		"/calls": "calls.csv", "/keys": "keys.csv", "/users": "users.csv", "/audit": "audit.csv", "/usage": ".csv",
	} {
		p.visit(path)
		p.click("CSV")
		p.see(file + " is saved")
	}
}

// save clicks CSV, and returns the file that is saved.
func (p *page) save() (file string) {
	p.t.Helper()
	ask[any](p, `(() => {
		const make = URL.createObjectURL;
		URL.createObjectURL = (blob) => (blob.text().then((text) => (window.saved = text)), make.call(URL, blob));
	})()`)
	p.click("CSV")
	p.see(".csv is saved")
	return ask[string](p, "window.saved")
}
