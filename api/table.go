package api

import (
	"encoding"
	"encoding/csv"
	"io"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"modelgateway/internal/jsonbytes"
)

// FileType is a form in which a whole list is sent as a file.
type FileType string

// The types of files.
const (
	CSV       FileType = "text/csv"             // a table with a header
	JSONLines FileType = "application/x-ndjson" // a row of the list on each line
)

// Extension of the name of a file.
func (t FileType) Extension() string {
	if t == CSV {
		return ".csv"
	}
	return ".jsonl"
}

// table writes the rows of a list as a file. In CSV a column is a member of the rows; those of
// an inner object have a point in their names, and lists are JSON.
type table[Row any] struct {
	out     io.Writer
	csv     *csv.Writer // nil for JSON
	columns []string
}

// newTable begins a table.
func newTable[Row any](out io.Writer, as FileType) (*table[Row], error) {
	t := &table[Row]{out: out}
	if as != CSV {
		return t, nil
	}
	t.csv, t.columns = csv.NewWriter(out), columnsOf(reflect.TypeFor[Row](), "", nil)
	return t, t.csv.Write(t.columns)
}

// add writes rows.
func (t *table[Row]) add(rows []Row) error {
	for i := range rows {
		text, err := json.Marshal(&rows[i], Lenient)
		if err != nil {
			return err
		}
		if t.csv == nil {
			_, err = t.out.Write(append(text, '\n'))
		} else {
			err = t.csv.Write(t.cells(text))
		}
		if err != nil {
			return err
		}
	}
	if t.csv == nil {
		return nil
	}
	t.csv.Flush()
	return t.csv.Error()
}

// WriteFile writes all rows of a list as a file, a page after the other. next returns the page
// behind the row with an id, and the id behind which others follow, empty for the last page.
func WriteFile[Row any](out io.Writer, as FileType, next func(after string) (rows []Row, last string, err error)) error {
	file, err := newTable[Row](out, as)
	for after := ""; err == nil; {
		var rows []Row
		if rows, after, err = next(after); err == nil {
			err = file.add(rows)
		}
		if after == "" {
			break
		}
	}
	return err
}

// cells are the values of a row in the order of the columns.
func (t *table[Row]) cells(row jsontext.Value) []string {
	values := map[string]string{}
	collect(row, "", values)
	cells := make([]string, len(t.columns))
	for i, column := range t.columns {
		cells[i] = values[column]
	}
	return cells
}

// collect reads the members of an object, and of those in it, by their names.
func collect(object jsontext.Value, path string, into map[string]string) {
	for name, value := range jsonbytes.Members(object) {
		column := path + name.String()
		switch value.Kind() {
		case jsontext.KindNull:
		case jsontext.KindString:
			into[column] = Cell(jsonbytes.Text(value))
		case jsontext.KindBeginObject:
			into[column] = string(value)
			collect(value, column+".", into)
		default:
			into[column] = string(value)
		}
	}
}

// Cell is a text in a CSV file. Users choose names: one that a spreadsheet would take for a
// formula begins with an apostrophe.
func Cell(text string) string {
	if text != "" && strings.Contains("=+-@\t\r", text[:1]) {
		return "'" + text
	}
	return text
}

// columnsOf adds the columns of a type to those before. The member object is the same in all
// rows of a list, and no column.
func columnsOf(of reflect.Type, path string, columns []string) []string {
	for i := range of.NumField() {
		field := of.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		switch {
		case name == "-" || path == "" && name == "object":
		case strings.Contains(options, "inline"), field.Anonymous && name == "":
			columns = columnsOf(kind, path, columns)
		case kind.Kind() == reflect.Struct && !writesItself(kind):
			columns = columnsOf(kind, path+name+".", columns)
		default:
			columns = append(columns, path+name)
		}
	}
	return columns
}

// writesItself says whether a type has a form of its own in JSON.
func writesItself(of reflect.Type) bool {
	for _, by := range []reflect.Type{
		reflect.TypeFor[json.MarshalerTo](), reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler](),
	} {
		if of.Implements(by) || reflect.PointerTo(of).Implements(by) {
			return true
		}
	}
	return false
}
