package console

import (
	"net/http"
	"strings"
	"testing"
)

// A program shows a code; its user confirms it in the console, sees the program in their account, and signs it out. What the
// link has is never sent by itself.
func TestProgramIsLetInAndSignedOut(t *testing.T) {
	t.Parallel()
	eachRoot(t, func(t *testing.T, p *page) {
		begin := func() (device, user string) {
			var c struct {
				Device string `json:"device_code"`
				User   string `json:"user_code"`
			}
			a := p.Call(t, http.MethodPost, "/oauth/device_authorization", "surface=claude_code", "Content-Type", "application/x-www-form-urlencoded",
				"User-Agent", "claude-code/2.1.330")
			a.JSON(t, &c)
			return c.Device, c.User
		}
		tokens := func(device string) (int, string) {
			a := p.Call(t, http.MethodPost, "/oauth/token", "grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code="+device,
				"Content-Type", "application/x-www-form-urlencoded")
			return a.Status, a.Body
		}
		device, user := begin()
		p.visit("/device?user_code=" + user)
		p.see("Continue only if both are the same.")
		p.inspect("device")
		p.fill("Code", "BBBB-BBBB")
		p.click("Continue")
		p.see("there is no such code")
		p.fill("Code", strings.ToLower(user))
		p.click("Continue")
		p.see("claude-code/2.1.330")
		p.see("Only if you started this sign-in yourself")
		p.inspect("device-decide")
		p.click("Let it in")
		p.see("The program is signed in.")
		if status, body := tokens(device); status != 200 {
			t.Errorf("%d %s", status, body)
		}

		refused, user := begin()
		p.visit("/device?user_code=" + user)
		p.click("Continue")
		p.click("Refuse")
		p.see("The program is not let in.")
		if status, body := tokens(refused); status != 400 || !strings.Contains(body, "access_denied") {
			t.Errorf("%d %s", status, body)
		}

		p.visit("/account")
		p.see("Signed-in programs")
		p.see("claude-code/2.1.330")
		p.inspect("account-programs")
		p.click("End")
		p.click("End sign-in")
		p.see("No program is signed in.")
	})
}
