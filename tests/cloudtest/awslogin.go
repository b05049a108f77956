package cloudtest

import (
	"crypto/rand"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

const (
	metadataPath  = "/latest/meta-data/iam/security-credentials/"
	metadataRole  = "gateway-instance"
	metadataToken = "X-Aws-Ec2-Metadata-Token"
)

// ContainerPath is where the credentials of a container are.
const ContainerPath = "/v2/credentials/gateway"

// serveLogIns adds STS and the metadata of an instance and of a container.
func (a *AWS) serveLogIns(paths *http.ServeMux) {
	paths.HandleFunc("POST /{$}", a.logIn(func(w http.ResponseWriter, r *http.Request) {
		refuseSTS(w, http.StatusForbidden, "AccessDenied", "User is not authorized to perform: "+r.FormValue("Action"))
	}, a.sts))
	paths.HandleFunc("PUT /latest/api/token", func(w http.ResponseWriter, r *http.Request) {
		ttl := r.Header.Get(metadataToken + "-Ttl-Seconds")
		switch {
		case r.Header.Get("X-Forwarded-For") != "":
			w.WriteHeader(http.StatusForbidden)
		case ttl == "":
			w.WriteHeader(http.StatusBadRequest)
		default:
			token, _, _ := a.issue("imds-", grant{})
			w.Header().Set(metadataToken+"-Ttl-Seconds", ttl)
			_, _ = w.Write([]byte(token)) // it fails only when the client has disconnected
		}
	})
	paths.HandleFunc("GET "+metadataPath+"{$}", a.instance(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(metadataRole)) // as above
	}))
	paths.HandleFunc("GET "+metadataPath+metadataRole, a.instance(a.logIn(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
	}, a.temporary)))
	paths.HandleFunc("GET "+ContainerPath, a.logIn(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}, func(w http.ResponseWriter, r *http.Request) {
		if !equal(r.Header.Get("Authorization"), ContainerCredential) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		a.temporary(w, r)
	}))
}

// instance serves requests with a token of the metadata service, as version 2 of it wants.
func (a *AWS) instance(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if g, known := a.granted(r.Header.Get(metadataToken)); !known || g.secret != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		serve(w, r)
	}
}

func (a *AWS) issueKey(tags map[string]string) (id string, g grant) {
	id, g, _ = a.issue("ASIA", grant{secret: rand.Text() + rand.Text(), session: rand.Text(), tags: tags})
	return id, g
}

// temporary answers in the form of the metadata services.
func (a *AWS) temporary(w http.ResponseWriter, _ *http.Request) {
	id, g := a.issueKey(nil)
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{
		"Code", "Success", "LastUpdated", time.Now().UTC().Format(time.RFC3339), "Type", "AWS-HMAC", "AccessKeyId", id,
		"SecretAccessKey", g.secret, "Token", g.session, "Expiration", g.expires.UTC().Format(time.RFC3339Nano),
	})
}

func (a *AWS) sts(w http.ResponseWriter, r *http.Request) {
	form, _ := url.ParseQuery(string(readBody(r))) // what cannot be read is missing
	action, tags := form.Get("Action"), map[string]string{}
	for i := 1; form.Has(fmt.Sprintf("Tags.member.%d.Key", i)); i++ {
		tags[form.Get(fmt.Sprintf("Tags.member.%d.Key", i))] = form.Get(fmt.Sprintf("Tags.member.%d.Value", i))
	}
	switch action {
	case "AssumeRole":
		if refusal := a.authorize(r, "sts"); refusal != nil {
			refuseSTS(w, refusal.status, strings.TrimSuffix(refusal.kind, "Exception"), refusal.message)
			return
		}
		if form.Get("ExternalId") != ExternalID {
			refuseSTS(w, http.StatusForbidden, "AccessDenied", "User is not authorized to perform: sts:AssumeRole on resource: "+Role)
			return
		}
	case "AssumeRoleWithWebIdentity":
		if !equal(form.Get("WebIdentityToken"), WebIdentity) {
			refuseSTS(w, http.StatusBadRequest, "InvalidIdentityToken", "The web identity token that was passed could not be validated.")
			return
		}
	default:
		refuseSTS(w, http.StatusBadRequest, "InvalidAction", "Could not find operation "+action+" for version 2011-06-15")
		return
	}
	if form.Get("RoleArn") != Role || form.Get("RoleSessionName") == "" {
		refuseSTS(w, http.StatusForbidden, "AccessDenied", "Not authorized to perform sts:"+action)
		return
	}
	id, g := a.issueKey(tags)
	type credentials struct{ AccessKeyId, SecretAccessKey, SessionToken, Expiration string } //nolint:revive // AccessKeyId is STS's own name
	writeXML(w, http.StatusOK, action+"Response", struct {
		XMLName     xml.Name
		Credentials credentials
	}{
		xml.Name{Local: action + "Result"},
		credentials{id, g.secret, g.session, g.expires.UTC().Format(time.RFC3339Nano)},
	})
}

func refuseSTS(w http.ResponseWriter, status int, code, message string) {
	writeXML(w, status, "ErrorResponse", struct {
		XMLName             xml.Name `xml:"Error"`
		Type, Code, Message string
	}{Type: "Sender", Code: code, Message: message})
}

// writeXML writes an answer of STS with one element.
func writeXML(w http.ResponseWriter, status int, name string, element any) {
	inner, err := xml.Marshal(element)
	if err != nil {
		panic(err) // of our own types
	}
	w.Header().Set("Content-Type", "text/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<%s xmlns="https://sts.amazonaws.com/doc/2011-06-15/">%s<RequestId>%s</RequestId></%s>`,
		name, inner, strings.ToLower(rand.Text()), name) // as above
}
