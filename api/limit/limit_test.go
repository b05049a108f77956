package limit

import (
	"reflect"
	"strconv"
	"testing"
)

func TestEveryFieldHasItsRow(t *testing.T) {
	var n Numbers[int64]
	fields, rows := reflect.ValueOf(&n).Elem(), n.All()
	if fields.NumField() != len(rows) {
		t.Fatalf("%d fields and %d rows", fields.NumField(), len(rows))
	}
	seen := map[string]bool{}
	for i, row := range rows {
		field := fields.Type().Field(i)
		if row.Value != fields.Field(i).Addr().Interface() || row.Name != field.Tag.Get("json") {
			t.Errorf("the row %s is not that of the field %s", row.Name, field.Name)
		}
		for what, text := range map[string]string{"name": row.Name, "column": row.Column, "setting": row.Setting, "doc": row.Doc} {
			if text == "" || seen[what+text] {
				t.Errorf("%s: the %s %q is empty, or of another row too", field.Name, what, text)
			}
			seen[what+text] = true
		}
	}
}

func TestMapKeepsTheOrder(t *testing.T) {
	var n Numbers[int]
	for i, row := range n.All() {
		*row.Value = i
	}
	mapped := Map(n, strconv.Itoa)
	for i, row := range mapped.All() {
		if *row.Value != strconv.Itoa(i) {
			t.Errorf("%s: %s, want %d", row.Name, *row.Value, i)
		}
	}
}
