package models_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modelgateway/models"
)

// turn is a response that is kept from 10 to 100.
func turn(id, owner, previous string) *models.KeptResponse {
	return &models.KeptResponse{ID: id, Owner: owner, Previous: previous, Sealed: []byte("sealed " + id), Size: 10, CreatedAt: 10, ExpiresAt: 100}
}

func ids(turns []models.KeptResponse) string {
	var all []string
	for i := range turns {
		if string(turns[i].Sealed) != "sealed "+turns[i].ID || turns[i].Owner == "" {
			return "not loaded: " + turns[i].ID
		}
		all = append(all, turns[i].ID)
	}
	return strings.Join(all, " ")
}

func TestKeptConversationIsThatOfItsOwnerAndWhole(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store, most := migrated(t, address), models.KeptBounds{Responses: 5, Bytes: 1000}
		for _, r := range []*models.KeptResponse{
			turn("a1", "user:ada", ""), turn("a2", "user:ada", "a1"), turn("a3", "user:ada", "a2"), turn("a2b", "user:ada", "a1"),
			turn("b1", "user:bob", "a1"), turn("orphan", "user:ada", "gone"),
		} {
			if err := store.KeepResponse(t.Context(), r, []string{"msg_" + r.ID, "fc_" + r.ID}, models.KeptBounds{Responses: 9, Bytes: 1000}); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			owner, id string
			now       int64
			most      models.KeptBounds
			want      string
			err       error
		}{
			{"user:ada", "a3", 50, most, "a1 a2 a3", nil},
			{"user:ada", "a2b", 99, most, "a1 a2b", nil},
			{"user:ada", "a1", 50, most, "a1", nil},
			{"user:ada", "a3", 100, most, "", models.ErrNotFound},
			{"user:bob", "a3", 50, most, "", models.ErrNotFound},
			{"user:bob", "b1", 50, most, "", models.ErrNotFound}, // it goes on from one of another owner
			{"user:ada", "orphan", 50, most, "", models.ErrNotFound},
			{"user:ada", "a3", 50, models.KeptBounds{Responses: 2, Bytes: 1000}, "", models.ErrTooMany},
			{"user:ada", "a3", 50, models.KeptBounds{Responses: 5, Bytes: 29}, "", models.ErrTooMany},
		} {
			turns, err := store.KeptConversation(t.Context(), models.KeptFor{Owner: tt.owner}, tt.id, tt.now, tt.most)
			if !errors.Is(err, tt.err) || err == nil && ids(turns) != tt.want {
				t.Errorf("%s %s at %d: %s, %v", tt.owner, tt.id, tt.now, ids(turns), err)
			}
		}
		turns, err := store.KeptOfItems(t.Context(), models.KeptFor{Owner: "user:ada"}, []string{"msg_a1", "fc_a1", "fc_a3", "msg_b1", "none"}, 50, most)
		slices.SortFunc(turns, func(a, b models.KeptResponse) int { return strings.Compare(a.ID, b.ID) })
		if err != nil || ids(turns) != "a1 a3" {
			t.Errorf("of items: %s, %v", ids(turns), err)
		}
		if turns, err := store.KeptOfItems(t.Context(), models.KeptFor{Owner: "user:ada"}, []string{"msg_a1"}, 100, most); err != nil || len(turns) > 0 {
			t.Errorf("after their time: %s, %v", ids(turns), err)
		}
		if r, err := store.KeptResponse(t.Context(), models.KeptFor{Owner: "user:ada"}, "a2", 50); err != nil || r.Previous != "a1" {
			t.Errorf("%+v, %v", r, err)
		}
		for _, err := range []error{
			store.DeleteKeptResponse(t.Context(), models.KeptFor{Owner: "user:bob"}, "a2", 50), store.DeleteKeptResponse(t.Context(), models.KeptFor{Owner: "user:ada"}, "a2", 100),
		} {
			if !errors.Is(err, models.ErrNotFound) {
				t.Error(err)
			}
		}
		if err := store.DeleteKeptResponse(t.Context(), models.KeptFor{Owner: "user:ada"}, "a2", 50); err != nil {
			t.Error(err)
		}
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM kept_responses": 5, "SELECT count(*) FROM kept_items": 10,
		})
		if n, err := store.DeleteExpiredResponses(t.Context(), 99, 10); n != 0 || err != nil {
			t.Error(n, err)
		}
		if n, err := store.DeleteExpiredResponses(t.Context(), 100, 3); n != 3 || err != nil {
			t.Error(n, err)
		}
		expect(t, rawDB(t, address), map[string]int64{"SELECT count(*) FROM kept_responses": 2, "SELECT count(*) FROM kept_items": 4})
	})
}

func TestWhatAKeyOfATeamHasMadeIsOpenedByKeysOfThatTeamAndByItsUser(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		most := models.KeptBounds{Responses: 9, Bytes: 1000}
		for id, team := range map[string]string{"mine": "", "t1": "t", "u1": "u"} {
			r := turn(id, "user:ada", "")
			r.TeamID = team
			if err := store.KeepResponse(t.Context(), r, []string{"msg_" + id}, most); err != nil {
				t.Fatal(err)
			}
		}
		mixed := turn("mixed", "user:ada", "mine") // goes on from one that keys of the team do not open
		mixed.TeamID = "t"
		if err := store.KeepResponse(t.Context(), mixed, nil, most); err != nil {
			t.Fatal(err)
		}
		for by, opens := range map[models.KeptFor]string{
			{Owner: "user:ada"}:              "mine",
			{Owner: "user:ada", TeamID: "t"}: "t1",
			{Owner: "user:ada", TeamID: "u"}: "u1",
			{Owner: "user:ada", All: true}:   "mine mixed t1 u1",
			{Owner: "user:bob", All: true}:   "",
		} {
			var got []string
			for _, id := range []string{"mine", "mixed", "t1", "u1"} {
				_, err := store.KeptConversation(t.Context(), by, id, 50, most)
				one, oneErr := store.KeptResponse(t.Context(), by, id, 50)
				if err == nil {
					got = append(got, id)
				}
				if err == nil && (oneErr != nil || one.ID != id) || oneErr == nil && err != nil && id != "mixed" {
					t.Errorf("%+v: %s: %v, and alone %v", by, id, err, oneErr)
				}
			}
			turns, err := store.KeptOfItems(t.Context(), by, []string{"msg_mine", "msg_t1", "msg_u1"}, 50, most)
			if err != nil || len(turns) != strings.Count(strings.ReplaceAll(opens, "mixed ", "")+" ", "1 ")+strings.Count(opens, "mine") {
				t.Errorf("%+v: %s of items, %v", by, ids(turns), err)
			}
			if strings.Join(got, " ") != opens {
				t.Errorf("%+v opens %v, not %s", by, got, opens)
			}
		}
		if err := store.DeleteKeptResponse(t.Context(), models.KeptFor{Owner: "user:ada", TeamID: "t"}, "mine", 50); !errors.Is(err, models.ErrNotFound) {
			t.Error(err)
		}
		if err := store.DeleteKeptResponse(t.Context(), models.KeptFor{Owner: "user:ada", All: true}, "t1", 50); err != nil {
			t.Error(err)
		}
	})
}

func TestTheOldestResponsesOfAnOwnerAreErasedBeyondTheBounds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		keep := func(i int, owner string, most models.KeptBounds) {
			r := turn(owner+strconv.Itoa(i), owner, "")
			r.CreatedAt = int64(i)
			if err := store.KeepResponse(t.Context(), r, []string{"m" + r.ID}, most); err != nil {
				t.Fatal(err)
			}
		}
		keep(1, "other", models.KeptBounds{Responses: 1, Bytes: 10})
		for i := range 6 {
			keep(i, "o", models.KeptBounds{Responses: 4, Bytes: 1000})
		}
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM kept_responses WHERE owner = 'o'": 4, "SELECT min(created_at) FROM kept_responses WHERE owner = 'o'": 2,
			"SELECT count(*) FROM kept_responses WHERE owner = 'other'": 1, "SELECT count(*) FROM kept_items": 5,
		})
		keep(6, "o", models.KeptBounds{Responses: 4, Bytes: 25})
		expect(t, rawDB(t, address), map[string]int64{
			"SELECT count(*) FROM kept_responses WHERE owner = 'o'": 2, "SELECT min(created_at) FROM kept_responses WHERE owner = 'o'": 5,
		})
	})
}

func TestConversationsEndWithTheirUserAndWithATeamsKey(t *testing.T) {
	eachDatabase(t, func(t *testing.T, address string) {
		store := migrated(t, address)
		createUsers(t, store, "ada", "bob")
		teams := []*models.Key{key("k1", "", 1), key("k2", "", 1), key("k3", "", 1)}
		err := store.Change(t.Context(), func(tx *models.Transaction) error {
			if err := tx.CreateTeam(&models.Team{ID: "t", Name: "t", CreatedAt: 1}); err != nil {
				return err
			}
			for i, k := range teams {
				if k.TeamID = "t"; i < 2 {
					if err := tx.CreateKey(k, 9); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{"user:ada", "user:bob", "key:k1", "key:k2", "anonymous"} {
			if err := store.KeepResponse(t.Context(), turn("of "+owner, owner, ""), nil, models.KeptBounds{Responses: 9, Bytes: 1000}); err != nil {
				t.Fatal(err)
			}
		}
		left := func(want string) {
			t.Helper()
			var owners []string
			rows, err := rawDB(t, address).QueryContext(t.Context(), "SELECT owner FROM kept_responses ORDER BY owner")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				var owner string
				if err := rows.Scan(&owner); err != nil {
					t.Fatal(err)
				}
				owners = append(owners, owner)
			}
			if got := strings.Join(owners, " "); got != want {
				t.Errorf("left are those of %s, not of %s", got, want)
			}
		}
		change := func(f func(tx *models.Transaction) error) {
			t.Helper()
			if err := store.Change(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		change(func(tx *models.Transaction) error { _, err := tx.DeleteUser("ada", 5); return err })
		left("anonymous key:k1 key:k2 user:bob")
		change(func(tx *models.Transaction) error {
			revoked := *teams[0]
			revoked.RevokedAt = 5
			return tx.UpdateKey(teams[0], &revoked)
		})
		left("anonymous key:k2 user:bob")
		change(func(tx *models.Transaction) error { _, err := tx.RevokeKeys("bob", 5); return err })
		left("anonymous key:k2 user:bob")
		change(func(tx *models.Transaction) error { _, err := tx.DeleteTeam("t", 5); return err })
		left("anonymous user:bob")
	})
}
