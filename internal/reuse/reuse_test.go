package reuse

import "testing"

func TestWhatComesBackIsZero(t *testing.T) {
	t.Parallel()
	type value struct{ text *string }
	var p Pool[value]
	for range 100 {
		v := p.Get()
		if *v != (value{}) {
			t.Fatalf("%+v", *v)
		}
		v.text = new("a")
		p.Put(v)
	}
}
