package cloudtest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"modelgateway/providers/simulator/rawjson"
	"modelgateway/providers/simulator/wire"
)

// What the stand-in of Amazon knows: a user and the key of that user, a role, and profiles of
// an application, whose ids do not say which model they are of.
const (
	Region              = "us-east-1"
	AccessKeyID         = "AKIASTANDIN000000001"
	SecretAccessKey     = "stand-in/secret+access/key0000000000001"
	BedrockKey          = "ABSKstandinbedrockkey0000000000000001="
	Role                = "arn:aws:iam::123456789012:role/gateway"
	ExternalID          = "an-external-id"
	WebIdentity         = "a-web-identity-token"
	ContainerCredential = "a-container-credential"

	profiles      = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/"
	ClaudeProfile = profiles + "c1aude000001"
	NovaProfile   = profiles + "n0va00000001"
)

// AWS is Amazon: Bedrock's two services and Mantle, and the services that give credentials
// (STS, the metadata of an instance and of a container), on one address.
type AWS struct{ Cloud }

// NewAWS serves Amazon until the test ends.
func NewAWS(t testing.TB, models http.Handler) *AWS {
	t.Helper()
	a, paths := &AWS{}, http.NewServeMux()
	for path, serve := range map[string]http.HandlerFunc{
		"POST /model/{id}/invoke":                      a.invoke,
		"POST /model/{id}/invoke-with-response-stream": a.invoke,
		"POST /model/{id}/count-tokens":                a.countTokens,
		"POST /model/{id}/converse":                    a.converse,
		"POST /model/{id}/converse-stream":             a.converse,
		"GET /foundation-models":                       a.foundationModels,
		"GET /inference-profiles":                      a.inferenceProfiles,
		"POST /openai/v1/chat/completions":             a.openAI,
		"POST /openai/v1/responses":                    a.openAI,
	} {
		paths.Handle(path, a.signed("bedrock", serve))
	}
	for _, path := range []string{"POST /v1/chat/completions", "POST /v1/responses"} {
		paths.Handle(path, a.signed("bedrock-mantle", a.openAI))
	}
	a.serveLogIns(paths)
	paths.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		(&awsRefusal{http.StatusNotFound, "UnknownOperationException", "The requested operation is not recognized by the service."}).write(w)
	})
	a.start(t, models, paths)
	a.grants[AccessKeyID] = grant{secret: SecretAccessKey}
	return a
}

// awsRefusal is an error answer of Bedrock.
type awsRefusal struct {
	status        int
	kind, message string
}

func (f *awsRefusal) write(w http.ResponseWriter) {
	w.Header().Set("X-Amzn-Errortype", f.kind)
	w.Header().Set("X-Amzn-Requestid", wire.NewID(""))
	wire.WriteJSON(w, f.status, rawjson.Object{"message", f.message})
}

func invalid(format string, args ...any) *awsRefusal {
	return &awsRefusal{http.StatusBadRequest, "ValidationException", fmt.Sprintf(format, args...)}
}

const (
	malformed    = "Malformed input request, please reformat your input and try again."
	unknownModel = "The provided model identifier is invalid."
)

// awsKinds are the errors of Bedrock's runtime by status. Source: botocore's model of it.
var awsKinds = map[int]string{
	400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
	424: "ModelErrorException", 429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException",
}

var (
	geography = regexp.MustCompile(`^(us|eu|apac|jp|au|ca|us-gov|global)\.`)
	version   = regexp.MustCompile(`-v\d+(:\d+)?$`)
)

// model is the vendor's own name of the model that an id stands for, and whether the id is
// that of a profile.
func model(id string) (name string, profile bool) {
	switch id {
	case ClaudeProfile:
		return "anthropic.claude-sonnet-4-5-20250929", true
	case NovaProfile:
		return "amazon.nova-pro", true
	}
	name = id[strings.LastIndexByte(id, '/')+1:]
	profile = geography.MatchString(name)
	return version.ReplaceAllString(geography.ReplaceAllString(name, ""), ""), profile
}

// sold are the models of the lists; those that are in no profile are called by their own id.
var sold = []struct {
	id, input, output string
	profile           bool
}{
	{"anthropic.claude-sonnet-4-5-20250929-v1:0", "TEXT IMAGE", "TEXT", true},
	{"anthropic.claude-haiku-4-5-20251001-v1:0", "TEXT IMAGE", "TEXT", true},
	{"amazon.nova-pro-v1:0", "TEXT IMAGE", "TEXT", false},
	{"openai.gpt-oss-120b-1:0", "TEXT", "TEXT", false},
	{"cohere.embed-english-v3", "TEXT", "EMBEDDING", false},
	{"amazon.titan-image-generator-v2:0", "TEXT", "IMAGE", false},
}

func (a *AWS) foundationModels(w http.ResponseWriter, _ *http.Request) {
	var all []rawjson.Object
	for _, m := range sold {
		vendor, _, _ := strings.Cut(m.id, ".")
		ways := []string{"ON_DEMAND"}
		if m.profile {
			ways[0] = "INFERENCE_PROFILE"
		}
		all = append(all, rawjson.Object{
			"modelArn", "arn:aws:bedrock:" + Region + "::foundation-model/" + m.id, "modelId", m.id, "modelName", m.id, "providerName", vendor,
			"inputModalities", strings.Fields(m.input), "outputModalities", strings.Fields(m.output), "responseStreamingSupported", true,
			"customizationsSupported", []string{}, "inferenceTypesSupported", ways, "modelLifecycle", rawjson.Object{"status", "ACTIVE"},
		})
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{"modelSummaries", all})
}

func (a *AWS) inferenceProfiles(w http.ResponseWriter, _ *http.Request) {
	var all []rawjson.Object
	for _, m := range sold {
		if m.profile {
			all = append(all, rawjson.Object{
				"inferenceProfileName", "US " + m.id, "inferenceProfileId", "us." + m.id, "status", "ACTIVE", "type", "SYSTEM_DEFINED",
				"inferenceProfileArn", "arn:aws:bedrock:" + Region + ":123456789012:inference-profile/us." + m.id,
				"models", []rawjson.Object{{"modelArn", "arn:aws:bedrock:" + Region + "::foundation-model/" + m.id}},
			})
		}
	}
	wire.WriteJSON(w, http.StatusOK, rawjson.Object{"inferenceProfileSummaries", all})
}

// openAI is the API of OpenAI's form, for the open models of OpenAI and others.
func (a *AWS) openAI(w http.ResponseWriter, r *http.Request) {
	a.askOpenAI(w, r, r.URL.Path[strings.Index(r.URL.Path, "/v1/"):], "gpt-4.1")
}
