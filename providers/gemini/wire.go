package gemini

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The roles of a content.
const (
	roleUser  = "user"
	roleModel = "model"
)

// content is one turn of the user or the model.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is one part of a content, in requests and answers, of which one member
// is set; any part may have a signature. Parts of other kinds (of tools that
// run at Google) decode to an empty one.
type part struct {
	Text             string            `json:"text,omitempty"`
	Thought          bool              `json:"thought,omitzero"`
	InlineData       *blob             `json:"inlineData,omitzero"`
	FileData         *fileData         `json:"fileData,omitzero"`
	FunctionCall     *functionCall     `json:"functionCall,omitzero"`
	FunctionResponse *functionResponse `json:"functionResponse,omitzero"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"` // base64
}

type fileData struct {
	MIMEType string `json:"mimeType,omitempty"`
	FileURI  string `json:"fileUri"`
}

type functionCall struct {
	ID   string         `json:"id,omitempty"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args,omitzero"`

	// Vertex AI sends a call in parts, where it is asked to: the first part has the name, each
	// but the last WillContinue.
	PartialArgs  []jsontext.Value `json:"partialArgs,omitempty"`
	WillContinue bool             `json:"willContinue,omitzero"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response jsontext.Value `json:"response"`
	Parts    []part         `json:"parts,omitempty"`
}

type functionCallingConfig struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// generationConfig has its response schema written beside it, byte for byte.
type generationConfig struct {
	CandidateCount     int64           `json:"candidateCount,omitzero"`
	MaxOutputTokens    int64           `json:"maxOutputTokens,omitzero"`
	Temperature        *float64        `json:"temperature,omitzero"`
	TopP               *float64        `json:"topP,omitzero"`
	TopK               int64           `json:"topK,omitzero"`
	StopSequences      []string        `json:"stopSequences,omitempty"`
	Seed               *int64          `json:"seed,omitzero"`
	PresencePenalty    float64         `json:"presencePenalty,omitzero"`
	FrequencyPenalty   float64         `json:"frequencyPenalty,omitzero"`
	ResponseLogprobs   bool            `json:"responseLogprobs,omitzero"`
	Logprobs           *int64          `json:"logprobs,omitzero"`
	ResponseMIMEType   string          `json:"responseMimeType,omitempty"`
	ResponseModalities []string        `json:"responseModalities,omitempty"`
	ThinkingConfig     *thinkingConfig `json:"thinkingConfig,omitzero"`
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitzero"`
	ThinkingBudget  *int64 `json:"thinkingBudget,omitzero"` // tokens, -1 = as the model sees fit
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
}

// answer is a GenerateContentResponse: a whole answer, or what one event of a
// stream adds. Everything in it is optional.
type answer struct {
	Candidates     []candidate    `json:"candidates"`
	PromptFeedback feedback       `json:"promptFeedback"`
	UsageMetadata  jsontext.Value `json:"usageMetadata"` // cumulative; only the last is read
	ModelVersion   string         `json:"modelVersion"`
	ResponseID     string         `json:"responseId"`
	Error          *problem       `json:"error"`
}

// reset empties the answer for the next event and keeps its memory.
func (a *answer) reset() {
	*a = answer{Candidates: a.Candidates[:0], UsageMetadata: a.UsageMetadata[:0]}
}

type candidate struct {
	Index          int             `json:"index"` // absent = 0
	Content        content         `json:"content"`
	FinishReason   string          `json:"finishReason"`
	FinishMessage  string          `json:"finishMessage"`
	LogprobsResult *logprobsResult `json:"logprobsResult"`

	SafetyRatings     jsontext.Value `json:"safetyRatings"`
	CitationMetadata  jsontext.Value `json:"citationMetadata"`
	GroundingMetadata jsontext.Value `json:"groundingMetadata"`
}

type feedback struct {
	BlockReason        string         `json:"blockReason"`
	BlockReasonMessage string         `json:"blockReasonMessage"`
	SafetyRatings      jsontext.Value `json:"safetyRatings"`
}

// any reports whether the prompt was blocked. Some models send a message without a reason.
func (f feedback) any() bool { return f.BlockReason != "" || f.BlockReasonMessage != "" }

type logprobsResult struct {
	Chosen []tokenLogprob `json:"chosenCandidates"`
	Top    []struct {
		Candidates []tokenLogprob `json:"candidates"`
	} `json:"topCandidates"`
}

type tokenLogprob struct {
	Token          string  `json:"token"`
	LogProbability float64 `json:"logProbability"`
}

type usageMetadata struct {
	Prompt      count  `json:"promptTokenCount"` // includes Cached
	ToolPrompt  count  `json:"toolUsePromptTokenCount"`
	Candidates  count  `json:"candidatesTokenCount"` // without Thoughts
	Thoughts    count  `json:"thoughtsTokenCount"`
	Cached      count  `json:"cachedContentTokenCount"`
	Total       count  `json:"totalTokenCount"`
	ServiceTier string `json:"serviceTier"`

	PromptDetails jsontext.Value `json:"promptTokensDetails"`
	CacheDetails  jsontext.Value `json:"cacheTokensDetails"`
}

// sounds are the tokens of sounds in the details of a count; false if there are none.
func sounds(details jsontext.Value) (tokens int64, found bool) {
	var all []struct {
		Modality string `json:"modality"`
		Tokens   count  `json:"tokenCount"`
	}
	if details.Kind() != jsontext.KindBeginArray || json.Unmarshal(details, &all, lenient) != nil {
		return 0, false
	}
	for _, d := range all {
		if d.Modality == "AUDIO" {
			tokens += int64(d.Tokens)
		}
	}
	return tokens, len(all) > 0
}

// count is a number of tokens; an invalid one is 0.
type count int64

// UnmarshalJSONFrom reads any value.
func (c *count) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*c = 0
	if dec.PeekKind() != jsontext.KindNumber {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	const limit = 1 << 40
	if n, err := token.Float(); err == nil && n > 0 && n < limit {
		*c = count(n)
	}
	return nil
}

// lenient are the JSON options that accept harmless faults of an upstream.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
