package controllers

import (
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/api"
	"modelgateway/middleware"
	"modelgateway/models"
	"modelgateway/services/signin"
	"modelgateway/services/tracing"
)

// SignIn serves the sign-in of programs, and what those ask for that are signed in.
type SignIn struct {
	Service   *signin.Service
	On        bool // callers need a credential
	PublicURL string
	Telemetry *tracing.Collector // receives what programs tell of themselves; nil: nothing does
}

const (
	deviceGrant  = "urn:ietf:params:oauth:grant-type:device_code"
	refreshGrant = "refresh_token"
)

// Server answers GET /.well-known/oauth-authorization-server.
func (h *SignIn) Server(c *gin.Context) error {
	if !h.On {
		return off()
	}
	return writeJSON(c, http.StatusOK, api.OAuthServer{
		Issuer: h.PublicURL, DeviceEndpoint: h.PublicURL + "/oauth/device_authorization", TokenEndpoint: h.PublicURL + "/oauth/token",
		RevocationEndpoint: h.PublicURL + "/oauth/revoke", GrantTypes: []string{deviceGrant, refreshGrant},
		TokenAuthMethods: []string{"none"}, RevocationAuthMethods: []string{"none"}, ResponseTypes: []string{},
	})
}

func off() error {
	return noRoute("programs sign in only where callers need a credential: REQUIRE_AUTH is false")
}

func noRoute(why string) error {
	return &api.Error{Status: http.StatusNotFound, Type: api.TypeNotFound, Code: api.CodeRouteNotFound, Message: why}
}

// Device answers POST /oauth/device_authorization.
func (h *SignIn) Device(c *gin.Context) error {
	form, err := h.form(c)
	if err != nil {
		return err
	}
	made, err := h.Service.Begin(c.Request.Context(), client(c, form.Get("surface")), c.ClientIP())
	return answer(c, http.StatusOK)(made, err)
}

// client is what a program says that it is: its first words without what a list cannot show.
func client(c *gin.Context, surface string) string {
	const longest = 64
	name, _, _ := strings.Cut(c.GetHeader("User-Agent"), " ")
	if surface != "" && !strings.HasPrefix(strings.ReplaceAll(name, "-", "_"), surface) {
		name = strings.TrimSpace(surface + " " + name)
	}
	name = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > longest {
		name = string(runes[:longest])
	}
	return name
}

// Token answers POST /oauth/token.
func (h *SignIn) Token(c *gin.Context) error {
	form, err := h.form(c)
	if err != nil {
		return err
	}
	ctx, field := c.Request.Context(), "device_code"
	grant := form.Get("grant_type")
	switch grant {
	case deviceGrant:
	case refreshGrant:
		field = "refresh_token"
	case "":
		return api.Invalid(api.CodeMissingField, "grant_type", "grant_type is missing")
	default:
		return api.Invalid(api.CodeUnsupportedGrantType, "grant_type", "grant_type must be %s or %s", deviceGrant, refreshGrant)
	}
	credential := form.Get(field)
	if credential == "" {
		return api.Invalid(api.CodeMissingField, field, "%s is missing", field)
	}
	if grant == deviceGrant {
		tokens, err := h.Service.Tokens(ctx, credential)
		return answer(c, http.StatusOK)(tokens, err)
	}
	tokens, err := h.Service.Refresh(ctx, credential, entry(c))
	return answer(c, http.StatusOK)(tokens, err)
}

// Revoke answers POST /oauth/revoke. That a token is unknown is no error (RFC 7009, 2.2).
func (h *SignIn) Revoke(c *gin.Context) error {
	form, err := h.form(c)
	if err != nil {
		return err
	}
	token := form.Get("token")
	if token == "" {
		return api.Invalid(api.CodeMissingField, "token", "token is missing")
	}
	if err := h.Service.Revoke(c.Request.Context(), token, entry(c)); err != nil {
		return err
	}
	c.Status(http.StatusOK)
	return nil
}

// form reads the body of a program. What it has beside the known fields is ignored, but no field may be there twice
// (RFC 6749, 3.2).
func (h *SignIn) form(c *gin.Context) (url.Values, error) {
	const kind, most = "application/x-www-form-urlencoded", 16 << 10
	if !h.On {
		return nil, off()
	}
	if of, _, _ := mime.ParseMediaType(c.GetHeader("Content-Type")); of != kind {
		return nil, api.Invalid(api.CodeUnsupportedMediaType, "", "the body must be a form: Content-Type: %s", kind)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, most))
	if err != nil {
		return nil, api.Invalid(api.CodeRequestTooLarge, "", "the form cannot be read, or has more than %s", size(most))
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, api.Invalid(api.CodeInvalidValue, "", "the body is no form")
	}
	for name, values := range form {
		if len(values) > 1 {
			return nil, api.Invalid(api.CodeInvalidValue, name, "%s is there twice", api.Quoted(name))
		}
	}
	return form, nil
}

// Find answers POST /auth/device: what asks to be signed in with a code.
func (h *SignIn) Find(c *gin.Context) error {
	in, err := readBody[api.DeviceAnswer](c)
	if err != nil {
		return err
	}
	found, err := h.Service.Find(c.Request.Context(), in.UserCode)
	return answerAs(c, http.StatusOK, func(of *models.DeviceCode) api.DeviceWish {
		return api.DeviceWish{
			Object: "device_code", Client: of.Client, Address: of.Address, CreatedAt: api.Seconds(of.CreatedAt),
			ExpiresAt: api.Seconds(of.ExpiresAt),
		}
	})(found, err)
}

// Confirm answers POST /auth/device/confirm.
func (h *SignIn) Confirm(c *gin.Context) error {
	in, err := readBody[api.DeviceAnswer](c)
	if err != nil {
		return err
	}
	if in.Approve == nil {
		return api.Invalid(api.CodeMissingField, "approve", "approve is missing: true lets the program in")
	}
	err = h.Service.Confirm(c.Request.Context(), signin.Answer{
		UserID: user(c), UserCode: in.UserCode, TeamID: in.TeamID, Approve: *in.Approve, From: entry(c),
	})
	if err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}

// List answers GET /auth/sign-ins, and with the scope of administrators GET /admin/sign-ins.
func (h *SignIn) List(c *gin.Context) error {
	of := user(c)
	if middleware.RequestOf(c).Scope == middleware.All {
		of = c.Query("user_id")
	}
	all, err := h.Service.List(c.Request.Context(), of)
	return answerList(c, func(s *models.SignInWithOwners) api.SignIn {
		return api.SignIn{
			ID: s.ID, Object: "sign_in", UserID: s.UserID, Email: s.Email, TeamID: api.Maybe(s.TeamID), TeamName: api.Maybe(s.Team.Name),
			Client: s.Client, Address: s.Address, CreatedAt: api.Seconds(s.CreatedAt), RefreshedAt: api.Seconds(s.RefreshedAt),
			ExpiresAt: api.Seconds(s.EndsAt),
		}
	})(all, err)
}

// End answers DELETE /auth/sign-ins/{id} and /admin/sign-ins/{id}.
func (h *SignIn) End(c *gin.Context) error {
	by, id := user(c), lastID(c)
	of := by
	if middleware.RequestOf(c).Scope == middleware.All {
		of = ""
	}
	return answer(c, http.StatusOK)(deleted(id, "sign_in"), h.Service.End(c.Request.Context(), of, id, by, entry(c)))
}

// Settings answers GET /managed/settings.
func (h *SignIn) Settings(c *gin.Context) error {
	caller := &middleware.RequestOf(c).Caller
	if caller.SignIn == "" { // who has a key reads no settings
		return noRoute("settings are for programs that are signed in")
	}
	settings, err := h.Service.Settings(c.Request.Context(), caller)
	if err != nil {
		return err
	}
	tag := `"` + settings.Checksum + `"`
	c.Header("Etag", tag)
	if isKnown(c, tag) {
		c.Status(http.StatusNotModified)
		return nil
	}
	return writeJSON(c, http.StatusOK, settings)
}

// Collect answers POST /v1/metrics, /v1/logs and /v1/traces: what programs tell of themselves in OTLP.
func (h *SignIn) Collect(c *gin.Context) error {
	const most = 4 << 20
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, most))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge(most)
	}
	if err != nil {
		return err
	}
	h.Telemetry.Forward(c.Request.URL.Path, c.Request.Header, body)
	return writeBody(c, http.StatusOK, []byte("{}"))
}

// Usage answers GET /api/oauth/usage.
func (h *SignIn) Usage(c *gin.Context) error {
	ctx, caller := c.Request.Context(), &middleware.RequestOf(c).Caller
	all, err := h.Service.Standings(ctx, caller.Levels)
	if err != nil {
		return err
	}
	used := api.OAuthUsage{Extra: api.ExtraUsage{Enabled: true, Currency: "USD"}, Limits: []api.UsageCap{}}
	if len(all) == 0 {
		spent, err := h.Service.Spending(ctx, caller.UserID)
		if err != nil {
			return err
		}
		used.Extra.Used = cents(spent.Month)
		used.Extra.Daily, used.Extra.Weekly = &api.PeriodUsed{Used: cents(spent.Day)}, &api.PeriodUsed{Used: cents(spent.Week)}
		return writeJSON(c, http.StatusOK, used)
	}
	for i := range all {
		s := &all[i]
		limit, percent := cents(s.Limit), int64(100*s.Used())
		if i == 0 {
			used.Extra.Limit, used.Extra.Used, used.Extra.Utilization = &limit, cents(s.Spent), &percent
		}
		severity := "normal"
		if s.Used() >= 1 {
			severity = "exceeded"
		} else if s.Used() >= middleware.FirstNotice {
			severity = "warning"
		}
		used.Limits = append(used.Limits, api.UsageCap{
			Kind: "spend", Group: middleware.Period(s.Window), Percent: percent, Severity: severity, Active: i == 0,
			ResetsAt: s.Resets.UTC().Format("2006-01-02T15:04:05.000Z"),
		})
	}
	return writeJSON(c, http.StatusOK, used)
}

// cents are micro-dollars in cents, to two digits.
func cents(micro int64) float64 { return math.Round(float64(micro)/100) / 100 }

// AgentSettings answers GET /admin/agent-settings and GET /admin/teams/{id}/agent-settings.
func (h *Admin) AgentSettings(c *gin.Context) error {
	team := c.Param("id")
	found, err := h.Service.AgentSettings(c.Request.Context(), team)
	return answerAs(c, http.StatusOK, func(of *models.AgentSettings) api.AgentSettings { return showAgentSettings(team, of) })(found, err)
}

// SetAgentSettings answers PUT of the same paths.
func (h *Admin) SetAgentSettings(c *gin.Context) error {
	in, err := readBody[api.NewAgentSettings](c)
	if err != nil {
		return err
	}
	if len(in.Settings) == 0 {
		return api.Invalid(api.CodeMissingField, "settings", "settings is missing; DELETE removes them")
	}
	if err := h.Service.SetAgentSettings(c.Request.Context(), actor(c), c.Param("id"), in.Settings); err != nil {
		return err
	}
	return h.AgentSettings(c)
}

// RemoveAgentSettings answers DELETE of the same paths.
func (h *Admin) RemoveAgentSettings(c *gin.Context) error {
	if err := h.Service.SetAgentSettings(c.Request.Context(), actor(c), c.Param("id"), nil); err != nil {
		return err
	}
	return h.AgentSettings(c)
}

func showAgentSettings(team string, of *models.AgentSettings) api.AgentSettings {
	shown := api.AgentSettings{Object: "agent_settings", TeamID: api.Maybe(team), Settings: jsontext.Value("null")}
	if of != nil {
		shown.Settings, shown.ChangedAt = jsontext.Value(of.Settings), api.Moment(of.ChangedAt)
	}
	return shown
}
