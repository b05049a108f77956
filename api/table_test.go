package api

import (
	"strings"
	"testing"
)

type inner struct {
	Name  string `json:"name"`
	Count *int64 `json:"count"`
}

type tableRow struct {
	Object string `json:"object"`
	ID     string `json:"id"`
	Gone   Maybe  `json:"gone"`
	inlined
	Cost  USD      `json:"cost_usd"`
	Inner *inner   `json:"inner"`
	Words []string `json:"words,omitzero"`
}

type inlined struct {
	Yes bool `json:"yes"`
}

func TestATableHasAColumnForEachMember(t *testing.T) {
	five := int64(5)
	rows := []tableRow{
		{Object: "x", ID: "a,b", Gone: "@sum", inlined: inlined{true}, Cost: 1_500_000, Inner: &inner{"=1", &five}, Words: []string{"p", "q"}},
		{Object: "x", ID: "c\n\"d\""},
	}
	pages := map[string]string{"": "second", "second": ""}
	for as, want := range map[FileType]string{
		CSV: "id,gone,yes,cost_usd,inner.name,inner.count,words\n" +
			"\"a,b\",'@sum,true,1.5,'=1,5,\"[\"\"p\"\",\"\"q\"\"]\"\n\"c\n\"\"d\"\"\",,false,0,,,\n",
		JSONLines: `{"object":"x","id":"a,b","gone":"@sum","yes":true,"cost_usd":1.5,"inner":{"name":"=1","count":5},"words":["p","q"]}` + "\n" +
			`{"object":"x","id":"c\n\"d\"","gone":null,"yes":false,"cost_usd":0,"inner":null}` + "\n",
	} {
		var out strings.Builder
		err := WriteFile(&out, as, func(after string) ([]tableRow, string, error) {
			if after == "" {
				return rows[:1], pages[after], nil
			}
			return rows[1:], pages[after], nil
		})
		if err != nil || out.String() != want {
			t.Errorf("%v\n got %q\nwant %q", err, out.String(), want)
		}
	}
}
