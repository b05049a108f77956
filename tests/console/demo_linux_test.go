package console

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"modelgateway/tests/gatewaytest"
)

// demonstration starts `modelgateway demo` on a terminal, in a folder of its own, and returns
// it with the path and the fragment of the address that it prints.
func demonstration(t *testing.T) (gateway *gatewaytest.Program, address string) {
	t.Helper()
	screen, tty := terminal(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "demo")
	cmd.Dir = t.TempDir()
	cmd.Env = append(gatewaytest.AsProgram(), "PATH="+os.Getenv("PATH"), "HOME="+cmd.Dir, "TERM=dumb", "HOST=127.0.0.1", "PORT=0",
		"SHUTDOWN_GRACE_SECONDS=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	t.Cleanup(func() { _ = cmd.Wait() }) // t.Context has ended by then
	printed := gatewaytest.NewLogBuffer()
	go func() { _, _ = screen.WriteTo(printed) }() // ends with the process
	link := regexp.MustCompile(`Open the console in a browser.*\s+(http://127\.0\.0\.1:\d+)(/signin#token=\w+)\s`)
	var found []string
	gatewaytest.Eventually(t, within, "it prints the address of the console", func() bool {
		found = link.FindStringSubmatch(printed.String())
		return found != nil
	})
	if !strings.Contains(printed.String(), "data/demo.db is new: it has a week of simulated traffic") {
		t.Errorf("it does not say what its database has: %s", printed)
	}
	return &gatewaytest.Program{URL: found[1], Client: gatewaytest.ValidatingClient(t), Log: printed}, found[2]
}

// terminal opens a terminal that no person looks at: what is written to tty comes out of screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// newcomer opens the address that a demonstration prints, and becomes its administrator.
func newcomer(browser context.Context, t *testing.T, v view) *page {
	t.Helper()
	gateway, address := demonstration(t)
	p := open(browser, t, gateway, v)
	p.visit(address)
	p.see("Set up this gateway")
	p.fill("Name", "Newcomer")
	p.fill("E-mail", root)
	p.fill("Password", "correct horse battery")
	p.click("Create administrator")
	p.at("/")
	return p
}

// A newcomer starts the demonstration, opens the address that it prints, makes a key, tries two
// models side by side and finds the calls in Usage.
func TestNewcomerFindsTheirWayThroughTheDemonstration(t *testing.T) {
	t.Parallel()
	browser := newBrowser(t)
	for _, v := range []view{desktop, phone} {
		t.Run(v.name, func(t *testing.T) {
			p := newcomer(browser, t, v)
			p.see("Connect a client")
			p.see("Latest calls")

			p.jump("Keys")
			p.see("demo support-bot")
			p.click("Create key")
			p.fill("Name", "my laptop")
			p.submit()
			p.see("Copy your key now")
			p.click("Copy")
			p.click("Done")
			p.see("my laptop")

			p.jump("Playground")
			p.send("When does a partial index help?", "Send to both")
			for _, letter := range []string{"a", "b"} {
				p.lane(letter, `You said: "When does a partial index help?"`)
				p.lane(letter, "$0.")
			}
			p.see("costs")
			other := dark
			if v.phone() {
				other = night
			}
			for _, colours := range []view{other, v} {
				p.look(colours)
				p.inspect("demo-playground")
			}

			p.jump("Usage")
			p.click("7d")
			p.choose("Group by", "By user")
			p.see("demo-ines@demo.example")
			p.see(root)
			p.openRow(root)
			p.see("User: " + root)
			p.await("the two calls are not counted", func() bool {
				return ask[string](p, `document.querySelector(".kpis button:nth-child(2) b").textContent`) == "2"
			})
			p.jump("Calls")
			p.see("No key") // the playground's session needs none
			p.choose("Time", "Last 7 days")
			p.see("demo support-bot")

			for _, look := range views() {
				if look.phone() == v.phone() {
					p.look(look)
					p.tour(look)
				}
			}
		})
	}
}

// tour opens every page with the week of traffic. Little moves while a page is loaded.
func (p *page) tour(v view) {
	p.t.Helper()
	for _, stop := range []struct{ path, shows, name string }{
		{"/", "Latest calls", "home"}, {"/keys", "demo support-bot", "keys"}, {"/usage?range=7d&by=key", "demo support-bot", "usage"},
		{"/usage?range=7d&measure=errors", "Errors by model", "usage-errors"}, {"/calls?range=24h", "demo support-bot", "calls"},
		{"/models", "claude-haiku-4-5", "models"}, {"/users", "demo-ines@demo.example", "users"}, {"/teams", "Demo support", "teams"},
		{"/providers", "Healthy", "providers"}, {"/audit", "demo support-bot", "audit"}, {"/settings", "SIMULATOR", "settings"},
		{"/account", "Change password", "account"},
	} {
		p.visit(stop.path)
		p.see(stop.shows)
		p.steady(0.1)
		p.inspect("demo-" + stop.name)
	}
	p.visit("/calls?range=7d&key_id=" + p.keyOf("demo coding"))
	p.openNewest()
	p.inspect("demo-call")
}

// keyOf returns the id of a key.
func (p *page) keyOf(name string) string {
	p.t.Helper()
	var list struct{ Data []struct{ ID, Name string } }
	p.Call(p.t, "GET", "/admin/keys", "", p.Administrator(p.t)...).JSON(p.t, &list)
	for _, key := range list.Data {
		if key.Name == name {
			return key.ID
		}
	}
	p.t.Fatalf("there is no key %q", name)
	return ""
}

// jump goes to a page by the navigation.
func (p *page) jump(name string) {
	p.t.Helper()
	if p.view.phone() {
		p.click("Menu")
	}
	p.click(name)
	p.await("it is not the page "+name, func() bool { return ask[string](p, `document.querySelector("h1")?.textContent ?? ""`) == name })
}
