package gemini

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// schemaCase is a JSON Schema and what it becomes.
type schemaCase struct {
	name, in, want string
	lossy          bool
}

func checkSchemas(t *testing.T, cases []schemaCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got, lossy := openAPI(jsontext.Value(tt.in))
			if string(got) != tt.want || lossy != tt.lossy {
				t.Errorf("got  %s, %v\nwant %s, %v", got, lossy, tt.want, tt.lossy)
			}
		})
	}
}

func TestSchemasBecomeOpenAPI(t *testing.T) {
	checkSchemas(t, []schemaCase{
		{"what is the same", `{"type":"object","title":"T","description":"d","properties":{"s":{"type":"string","minLength":1,` +
			`"maxLength":2,"pattern":"x","format":"date-time","default":"a","example":"b"},"n":{"type":"number","minimum":0,` +
			`"maximum":1.50,"format":"double"},"a":{"type":"array","items":{"type":"boolean"},"minItems":1,"maxItems":2}},` +
			`"required":["s"],"minProperties":1,"propertyOrdering":["s"]}`,
			`{"type":"object","minProperties":1,"propertyOrdering":["s"],"properties":{"s":{"type":"string","format":"date-time",` +
				`"minLength":1,"maxLength":2,"pattern":"x","default":"a","example":"b"},"n":{"type":"number","format":"double",` +
				`"minimum":0,"maximum":1.50},"a":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"boolean"}}},` +
				`"required":["s"],"title":"T","description":"d"}`, false},
		{"keywords without weight", `{"$schema":"x","$id":"y","$comment":"c","type":"string","examples":["a"],` +
			`"readOnly":true,"deprecated":true,"additionalProperties":false}`, `{"type":"string"}`, false},
		{"keywords with weight", `{"type":"integer","exclusiveMinimum":0}`, `{"type":"integer"}`, true},
		{"formats that are not taken", `{"type":"string","format":"uri"}`, `{"type":"string"}`, true},
		{"a map", `{"type":"object","additionalProperties":{"type":"string"}}`, ``, true},
		{"no properties", `{"$ref":"#/$defs/A","$defs":{"A":{"type":["object","null"],"properties":{}}}}`, ``, true},
		{"no properties, by choice", `{"anyOf":[{"type":"object"},{"type":"null"}]}`, ``, true},
		{"no properties within", `{"type":"object","properties":{"a":{"type":"object","description":"free","default":{}},` +
			`"b":{"type":"array","items":{"type":"object","properties":{},"title":"T"}},"c":{"anyOf":[{"type":"object"},` +
			`{"type":"integer"}]},"d":{"type":["object","null"],"additionalProperties":true}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"free\nA JSON object, written as text."},` +
				`"b":{"type":"array","items":{"type":"string","title":"T","description":"A JSON object, written as text."}},` +
				`"c":{"anyOf":[{"type":"string","description":"A JSON object, written as text."},{"type":"integer"}]},` +
				`"d":{"type":"string","description":"A JSON object, written as text.","nullable":true}},"required":["a"]}`, true},

		{"nullable by type", `{"type":["string","null"],"description":"d"}`, `{"type":"string","description":"d","nullable":true}`, false},
		{"nullable by choice", `{"anyOf":[{"type":"integer"},{"type":"null"}],"description":"d","default":null}`,
			`{"type":"integer","description":"d","nullable":true}`, false},
		{"nullable by enum", `{"enum":["a",null]}`, `{"type":"string","enum":["a"],"nullable":true}`, false},
		{"nullable already", `{"type":"string","nullable":true}`, `{"type":"string","nullable":true}`, false},
		{"only null", `{"type":"null"}`, `{"type":"string","nullable":true}`, true},
		{"several types", `{"type":["string","integer","null"],"description":"d"}`, `{"anyOf":[{"type":"string"},{"type":"integer"}],` +
			`"description":"d","nullable":true}`, false},
		{"several types with what belongs to each", `{"type":["array","string"],"items":{"type":"integer"},"minLength":1}`,
			`{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"string","minLength":1}]}`, false},

		{"a constant", `{"const":"a"}`, `{"type":"string","enum":["a"]}`, false},
		{"a constant number", `{"const":5}`, `{"type":"number"}`, true},
		{"a constant truth", `{"const":true}`, `{"type":"boolean"}`, true},
		{"an enum of numbers", `{"type":"integer","enum":[1,2]}`, `{"type":"integer"}`, true},
		{"an enum with an empty word", `{"type":"string","enum":["","a"]}`, `{"type":"string","enum":["a"]}`, true},
	})
}

func TestChoicesAndReferencesBecomeOpenAPI(t *testing.T) {
	checkSchemas(t, []schemaCase{
		{"oneOf", `{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `{"anyOf":[{"type":"string"},{"type":"integer"}]}`, false},
		{"a choice that only narrows", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`, true},
		{"both kinds of choice", `{"anyOf":[{"type":"string"},{"type":"integer"}],"oneOf":[{"type":"string"}]}`,
			`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, true},
		{"allOf", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],` +
			`"allOf":[{"properties":{"b":{"type":"integer"}},"required":["b","a"]},{"description":"d"}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"],"description":"d"}`, false},
		{"allOf that disagrees", `{"allOf":[{"type":"string"},{"type":"integer"}]}`, `{"type":"string"}`, true},
		{"several types by reference", `{"$ref":"#/$defs/A","$defs":{"A":{"type":["string","integer"]}}}`,
			`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, false},

		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"},` +
			`"b":{"$ref":"#/definitions/B~1C"}},"$defs":{"A":{"type":"string","description":"its"}},` +
			`"definitions":{"B/C":{"$ref":"#/$defs/A"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"mine"},"b":{"type":"string","description":"its"}}}`, false},
		{"a reference into a list", `{"type":"object","properties":{"a":{"$ref":"#/anyOf/0"}},"x":1,"anyOf":[{"type":"integer"}]}`,
			`{"type":"object","properties":{"a":{"type":"integer"}}}`, true},
		{"a reference to nothing", `{"$ref":"#/$defs/A"}`, `{"type":"string"}`, true},
		{"a reference elsewhere", `{"$ref":"https://example.com/schema"}`, `{"type":"string"}`, true},
		{"a schema within itself", `{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"string"}}}`,
			`{"type":"object","properties":{"next":{"type":"object","properties":{"next":{"type":"string",` +
				`"description":"A JSON object, written as text."},"v":{"type":"string"}}},"v":{"type":"string"}}}`, true},

		{"an array of anything", `{"type":"array"}`, `{"type":"array","items":{"type":"string"}}`, false},
		{"a tuple", `{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}`,
			`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}`, true},
		{"an older tuple of one", `{"items":[{"type":"string"}]}`, `{"type":"array","items":{"type":"string"}}`, true},
		{"required but not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["b","a","a",1]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, false},
		{"types that are not said", `{"properties":{"a":{"items":{"enum":["x"]}}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}`, false},
		{"capitals", `{"type":"OBJECT","properties":{"a":{"type":"STRING"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`,
			false},
		{"anything", `{"type":"object","properties":{"a":{},"b":true,"c":{"type":"any"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}}}`, true},
	})
}

func TestHostileSchemasAreBounded(t *testing.T) {
	doubling := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"a%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/a%d"},"y":{"$ref":"#/$defs/a%d"}}},`, i, i+1,
			i+1)
	}
	doubling += `"a60":{"type":"string"}}}`
	combining := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 60 {
		combining += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"allOf":[{"$ref":"#/$defs/a%d"}]}]},`, i, i+1, i+1)
	}
	combining += `"a60":{"type":"string"}}}`
	many := func(open, each, end string) string {
		var b strings.Builder
		b.WriteString(open)
		for i := range 10_000 {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, each, i)
		}
		return b.String() + end
	}
	for name, schema := range map[string]string{
		"doubling":  doubling,
		"combining": combining,
		"many properties": `{"allOf":[` + many(`{"properties":{`, `"p%d":{}`, `}}`) + `,` + many(`{"properties":{`, `"q%d":{}`, `}}`) +
			`]}`,
		"many parts":      many(`{"allOf":[`, `{"properties":{"p%d":{}},"required":["p"]}`, `]}`),
		"many keywords":   `{"allOf":[` + many(`{`, `"k%d":1`, `}`) + `,` + many(`{`, `"l%d":1`, `}`) + `]}`,
		"many required":   many(`{"properties":{"a":{}},"required":[`, `"r%d"`, `]}`),
		"many references": many(`{"properties":{`, `"p%d":{"$ref":"#"}`, `}}`),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got, _ := openAPI(jsontext.Value(schema))
			if took := time.Since(began); took > 20*time.Second || len(got) > 64<<20 || !got.IsValid() {
				t.Errorf("%d bytes became %d in %s", len(schema), len(got), took)
			} else {
				t.Logf("%d bytes became %d in %s", len(schema), len(got), took)
			}
		})
	}
}
