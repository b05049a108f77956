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
