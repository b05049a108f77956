package main

import (
	"os"
	"testing"
)

func TestTheFactsOfTheCatalogueAreThoseOfTheLists(t *testing.T) {
	got, err := os.ReadFile("../../catalog/facts.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := facts(os.DirFS("../../catalog/lists"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("catalog/facts.json is not what the lists make: make catalogue writes it again")
	}
}
