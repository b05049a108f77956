package storage

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"modelgateway/tests/gatewaytest"
	"modelgateway/tests/longtest"
	"modelgateway/tests/servertest"
)

func TestGatewayStartsBeforeItsDatabaseAndSurvivesACrash(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t)
	server.Stop()
	p := gatewaytest.Start(t, "SIMULATOR=true", "DATABASE_URL="+server.URL, "REQUIRE_AUTH=true", gatewaytest.JWTSecret)
	if a := p.Get(t, "/health"); a.Status != 503 || !strings.Contains(a.Body, `"status":"unhealthy"`) {
		t.Errorf("health: %d %s", a.Status, a.Body)
	}
	key := "mgw_" + strings.Repeat("a", 40)
	if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key); a.Status != 401 && a.Status != 503 {
		t.Errorf("chat: %d %s", a.Status, a.Body)
	}
	if a := p.Call(t, "POST", "/auth/register", gatewaytest.AdaAccount); a.Status != 503 || a.APIError(t).Code != "service_unavailable" {
		t.Errorf("register: %d %s", a.Status, a.Body)
	}
	server.Restart()
	gatewaytest.Until(t, "the gateway is ready", func() bool { return p.Get(t, "/readyz").Status == 200 })
	token := p.Login(t)
	_, key = p.CreateKey(t, token)
	if a := p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key); a.Status != 200 {
		t.Errorf("after its return: %d %s", a.Status, a.Body)
	}
	server.Kill()
	time.Sleep(1500 * time.Millisecond) // cached keys are valid for a second
	for _, credential := range [][]string{{"Authorization", "Bearer " + key}, token} {
		if a := p.Chat(t, gatewaytest.HelloRequest, credential...); a.Status != 503 || a.APIError(t).Code != "service_unavailable" {
			t.Errorf("a good credential while the database is gone: %d %s", a.Status, a.Body)
		}
	}
	server.Restart()
	gatewaytest.Until(t, "the key works again",
		func() bool { return p.Chat(t, gatewaytest.HelloRequest, "Authorization", "Bearer "+key).Status == 200 })
}

func TestOpenModeServesWithoutItsDatabase(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t)
	p := gatewaytest.Start(t, "SIMULATOR=true", "DATABASE_URL="+server.URL)
	token := p.Login(t)
	_, key := p.CreateKey(t, token)
	server.Freeze()
	defer server.Thaw()
	for _, credential := range [][]string{nil, {"Authorization", "Bearer " + key}, token, {"Authorization", "Bearer sk-x"}} {
		began, late := time.Now(), longtest.Lateness(t)
		if a := p.Chat(t, gatewaytest.HelloRequest, credential...); a.Status != 200 || time.Since(began) > 5*time.Second+late() {
			t.Errorf("%.30v: %d after %s %s", credential, a.Status, time.Since(began), a.Body)
		}
	}
	if a := p.Call(t, http.MethodPost, "/auth/login", `{"email":"ada@example.com","password":"correct horse battery"}`); a.Status != 503 {
		t.Errorf("login: %d %s", a.Status, a.Body)
	}
}

func TestExhaustedDatabaseConnectionsAreServiceUnavailable(t *testing.T) {
	t.Parallel()
	server := servertest.StartPostgres(t, "max_connections=8")
	settings := []string{"SIMULATOR=true", "REQUIRE_AUTH=true", gatewaytest.JWTSecret, "DATABASE_URL=" + server.URL}
	first := gatewaytest.Start(t, settings...)
	_, key := first.CreateKey(t, first.Login(t))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	var held []*pgx.Conn
	defer func() {
		for _, c := range held {
			_ = c.Close(context.Background())
		}
	}()
	for {
		c, err := pgx.Connect(t.Context(), server.URL)
		if err != nil {
			break
		}
		held = append(held, c)
	}
	p := gatewaytest.Start(t, settings...)
	began, late := time.Now(), longtest.Lateness(t)
	a := p.Chat(t, gatewaytest.HelloRequest, "X-API-Key", key)
	if a.Status != 503 || a.APIError(t).Code != "service_unavailable" || time.Since(began) > 3*time.Second+late() {
		t.Errorf("%d after %s %s", a.Status, time.Since(began), a.Body)
	}
}
