package conversation

import (
	"testing"

	"modelgateway/models"
	"modelgateway/services/auth"
)

func TestOwnerIsTheUserElseTheKeyOfATeam(t *testing.T) {
	for want, c := range map[models.KeptFor]auth.Caller{
		{Owner: "user:ada", TeamID: "t"}: {UserID: "ada", KeyID: "key_1", TeamID: "t"},
		{Owner: "user:ada"}:              {UserID: "ada", KeyID: "key_1"},
		{Owner: "user:bob", All: true}:   {UserID: "bob"},
		{Owner: "key:key_1"}:             {KeyID: "key_1", TeamID: "t"},
		{Owner: "anonymous"}:             {Address: "192.0.2.1"},
	} {
		if got := owner(&c); got != want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
