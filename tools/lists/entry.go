package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

// entry is an object of a list. Its numbers are floating: their shortest form has the digits that the list has.
type entry = map[string]any

// readFile reads a file into v, and leaves there what the file does not set.
func readFile(file string, v *entry) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	switch filepath.Ext(file) {
	case ".json":
		return json.Unmarshal(text, v)
	case ".toml":
		return toml.Unmarshal(text, v)
	}
	return yaml.Unmarshal(text, v)
}

// at is what lies at a path of members, such as limit.context; nil: nothing. The empty path is that of the entry itself.
func at(v any, path string) any {
	if path == "" {
		return v
	}
	for name := range strings.SplitSeq(path, ".") {
		members, _ := v.(entry)
		v = members[name]
	}
	return v
}

func textAt(v any, path string) string {
	text, _ := at(v, path).(string)
	return text
}

func listAt(v any, path string) []any {
	list, _ := at(v, path).([]any)
	return list
}

// numberAt is 0 where there is no number.
func numberAt(v any, path string) float64 {
	switch n := at(v, path).(type) {
	case float64:
		return n
	case int:
		return float64(n)
	case int64:
		return float64(n)
	}
	return 0
}

// pick makes what a list of ours has of an entry: names has the path of each member that is taken. What is 0 is
// not known.
func pick[T any](from any, names map[string]string) (T, error) {
	members := entry{}
	for ours, path := range names {
		if v := at(from, path); v != nil && v != 0 && v != 0. && v != int64(0) && v != "" {
			members[ours] = v
		}
	}
	var made T
	text, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	return made, err
}

// decimal is a number with six digits after its point, which is exact enough: some numbers of the lists have been rounded by
// a computer. It is empty for 0.
func decimal(n float64) json.Number {
	const digits = 1e6
	if n == 0 {
		return ""
	}
	return json.Number(strconv.FormatFloat(math.Round(n*digits)/digits, 'f', -1, 64))
}
