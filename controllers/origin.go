package controllers

import (
	"net/http"

	"modelgateway/services/inference"
	"modelgateway/services/origin"
)

// projectHeader names the project that a call is for. Like all headers of the gateway it is sent
// to no provider.
const projectHeader = "X-Gateway-Project"

// origin sets what the call comes from, by its headers and what the body says of it. It refuses a
// project of the header that a call cannot be booked for. One of the body is left out, unless the
// request is strict: clients have used it for what they like.
func (r *reading) origin(req *http.Request, in *inference.Input) error {
	if r.origins == nil {
		return nil
	}
	h, of := req.Header, &in.Origin
	of.Agent = r.origins.Program(first(h, "User-Agent"), first(h, "Originator"))
	of.Session = origin.Identifier(first(h, "X-Claude-Code-Session-Id"), in.Request.Session, first(h, "X-Session-Id"),
		first(h, "X-Session-Affinity"))
	switch {
	case of.Agent == origin.Codex:
		codex(h, in)
	case of.Session != "":
		of.AgentID = origin.Identifier(first(h, "X-Claude-Code-Agent-Id"))
		of.ParentAgentID = origin.Identifier(first(h, "X-Claude-Code-Parent-Agent-Id"))
	}
	name, param := first(h, projectHeader), "x-gateway-project"
	if name == "" {
		name, param = in.Request.Project, "metadata.project"
	}
	if name == "" {
		return nil
	}
	err := r.origins.CheckProject(req.Context(), in.Caller.ProjectOwner(), param, name)
	switch {
	case err == nil:
		of.Project = name
	case param == "metadata.project" && !in.Strict:
		in.Ignored, err = append(in.Ignored, param), nil
	}
	return err
}

// codex sets what Codex says of its sessions in a way of its own: each agent has a thread, and
// that of the main one has the id of the session.
func codex(h http.Header, in *inference.Input) {
	of := &in.Origin
	if of.Session == "" {
		of.Session = origin.Identifier(in.Request.CacheKey)
	}
	if thread := origin.Identifier(first(h, "Thread-Id")); thread != of.Session {
		of.AgentID = thread
	}
	if parent := origin.Identifier(first(h, "X-Codex-Parent-Thread-Id")); parent != of.Session {
		of.ParentAgentID = parent
	}
}

// first is the first value of a header whose name is in its canonical form.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
