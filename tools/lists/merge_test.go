package main

import (
	"os"
	"testing"
)

func TestTheFactsAreThoseOfTheLists(t *testing.T) {
	text, err := facts("../../catalog/lists")
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile("../../catalog/facts.json"); err != nil || string(have) != string(text) {
		t.Errorf("facts.json is not what the lists make: make catalogue writes it again (%v)", err)
	}
}
