package jsonbytes

import "testing"

func TestAWriterPutsTheCommas(t *testing.T) {
	w := append(Writer(nil), "data: "...).Object().Text("a", "é\n\"").Int("n", -1).Bool("b", true).Null("z").TextOrNull("t", "").
		ObjectAt("o").EndObject().ListAt("l").Object().Escaped("e", []byte(`\u00e9`)).EndObject().Object().EndObject().EndList().
		List("m", Writer(nil).Object().EndObject()).JSON("j", []byte(`[1]`))
	w = append(w.Name("last"), "2"...).EndObject()
	const want = `data: {"a":"é\n\"","n":-1,"b":true,"z":null,"t":null,"o":{},"l":[{"e":"\u00e9"},{}],"m":[{}],"j":[1],"last":2}`
	if string(w) != want {
		t.Errorf("%s", w)
	}
}
