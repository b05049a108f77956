package api

// List is a list that is shown whole.
type List[T any] struct {
	Object string `json:"object"` // list
	Data   []T    `json:"data"`
}

// Page is a part of a list.
type Page[T any] struct {
	Object  string `json:"object"` // list
	Data    []T    `json:"data"`
	HasMore bool   `json:"has_more"`
}

// CursorPage is a part of a list in which others may follow a row that is not in it.
type CursorPage[T any] struct {
	Object    string `json:"object"` // list
	Data      []T    `json:"data"`   // the newest first
	HasMore   bool   `json:"has_more"`
	NextAfter Maybe  `json:"next_after"` // from which older ones follow
}

// ShowList returns rows as a list.
func ShowList[Row, T any](rows []Row, show func(*Row) T) List[T] {
	list := List[T]{Object: ObjectList, Data: make([]T, len(rows))}
	for i := range rows {
		list.Data[i] = show(&rows[i])
	}
	return list
}

// ShowPage returns rows as a part of a list.
func ShowPage[Row, T any](rows []Row, more bool, show func(*Row) T) Page[T] {
	return Page[T]{Object: ObjectList, Data: ShowList(rows, show).Data, HasMore: more}
}
