package anthropic

import (
	"strings"
	"testing"
)

// TestSchemasAreSentByteForByte holds for tools and, where it can be
// enforced as it is, for the answer's schema.
func TestSchemasAreSentByteForByte(t *testing.T) {
	const schema = `{ "type" : "object",
		"properties":{"zeta":{"type":"number","enum":[1.0,1e2,12345678901234567890]},"alpha":{"type":"string","title":"\u00e9<&>\/"}},
		"required":[ "zeta" ] , "additionalProperties": false }`
	body, ignored := sent(t, budgetNew, `{"model":"m",`+talk(user("q"))+`,"tools":[{"type":"function","function":{"name":"f",`+
		`"strict":true,"parameters":`+schema+`}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":`+schema+`}}}`)
	if n := strings.Count(body, schema); n != 2 || ignored != nil {
		t.Errorf("%d of 2 schemas as they came, ignored %q:\n%s", n, ignored, body)
	}
}

func TestToolSchemaGetsTypeObject(t *testing.T) {
	for in, want := range map[string]string{
		``:                                  `{"type":"object","properties":{}}`,
		`null`:                              `{"type":"object","properties":{}}`,
		`{}`:                                `{"type":"object"}`,
		`{ }`:                               `{"type":"object" }`,
		`{"a": 1 }`:                         `{"type":"object","a": 1 }`,
		`{ "type" : "object" , "a":1}`:      `{ "type" : "object" , "a":1}`,
		`{"a":{"type":"x"},"type":null}`:    `{"a":{"type":"x"},"type":"object"}`,
		`{"type": ["object","null"],"b":1}`: `{"type": "object","b":1}`,
	} {
		if got := string(objectSchema([]byte(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestSchemaIsMadeEnforceable(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		change   change
	}{
		{`{"type":"string"}`, ``, unchanged},
		{`true`, ``, unchanged},
		{`{}`, ``, unchanged},
		{`{"type":"object","additionalProperties":false}`, ``, unchanged},
		{`{"type":"array","minItems":1,"items":{"type":"string","format":"uuid","pattern":"^(?:a|b)+$"}}`, ``, unchanged},
		{`{"anyOf":[{"type":"object","additionalProperties":false,"properties":{}},{"$ref":"#/$defs/a"}],"$defs":{"a":{"enum":[1,` +
			`"x",null]}}}`, ``, unchanged},
		{`{"type":"object"}`, `{"type":"object","additionalProperties":false}`, impossible},
		{`{"properties":{}}`, `{"properties":{},"additionalProperties":false}`, harmless},
		{`{"type":["object","null"]}`, `{"type":["object","null"],"additionalProperties":false}`, impossible},
		{`{"type":"object","anyOf":[{"$ref":"#"}]}`, `{"type":"object","anyOf":[{"$ref":"#"}],"additionalProperties":false}`, harmless},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":true}`,
			`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, lossy},
		{`{"type":"object","properties":{},"additionalProperties":true}`,
			`{"type":"object","properties":{},"additionalProperties":false}`, impossible},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`,
			`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, impossible},
		{`{"patternProperties":{"^x":{}},"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}},` +
			`"additionalProperties":false,"description":"{patternProperties: {\"^x\":{}}}"}`, impossible},
		{`{"$schema":"x","type":"string"}`, `{"type":"string"}`, harmless},
		{`{"oneOf":[{"const":1},{"const":2}]}`, `{"anyOf":[{"const":1},{"const":2}]}`, harmless},
		{`{"oneOf":[{"const":1}],"anyOf":[{"const":2}]}`, `{"anyOf":[{"const":2}],"description":"{oneOf: [{\"const\":1}]}"}`, lossy},
		{`{"allOf":[ {"type":"object"}, {"x-y":1} ]}`, `{"allOf":[{"type":"object","additionalProperties":false},` +
			`{"description":"{x-y: 1}"}]}`, impossible},
		{`{"additionalProperties":{"type":"string"},"type":"object"}`, `{"additionalProperties":false,"type":"object"}`, impossible},
		{`{"type":"integer","minimum":1,"maximum":2,"description":"a \"b\""}`, `{"type":"integer",` +
			`"description":"a \"b\"\n\n{minimum: 1, maximum: 2}"}`, lossy},
		{`{"type":"string","format":"phone"}`, `{"type":"string","description":"{format: \"phone\"}"}`, lossy},
		{`{"type":"string","pattern":"(?<=a)b"}`, `{"type":"string","description":"{pattern: \"(?<=a)b\"}"}`, lossy},
		{`{"type":"string","pattern":"\\bword\\b"}`, `{"type":"string","description":"{pattern: \"\\\\bword\\\\b\"}"}`, lossy},
		{`{"type":"array","items":[{"type":"string"}]}`, `{"type":"array","description":"{items: [{\"type\":\"string\"}]}"}`, lossy},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"type":"array","maxItems":3,` +
			`"items":{}}}}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"object","properties":{"c":{"type":"array","items":{},` +
				`"description":"{maxItems: 3}"}},"additionalProperties":false}},"additionalProperties":false}`, lossy},
	} {
		if tt.want == "" {
			tt.want = tt.in
		}
		got, change := enforceable([]byte(tt.in))
		if string(got) != tt.want || change != tt.change {
			t.Errorf("%s becomes\n%s (%d), want\n%s (%d)", tt.in, got, change, tt.want, tt.change)
		}
	}
}

func TestImageTypeIsRecognizedByItsFirstBytes(t *testing.T) {
	for data, want := range map[string]string{
		png: "image/png", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp",
		pdf: "", "": "", "/": "", "%%%%": "", "UklGRhoAAABXQVZF": "", "iVBORw": "image/png",
	} {
		d, ok := readDataURL("data:x/y;base64," + data)
		if got := imageType(d.head()); !ok || got != want {
			t.Errorf("%q is %q, want %q", data, got, want)
		}
	}
}
