package models

import (
	"context"
	"hash/fnv"
	"strconv"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"
)

// The id of a call is a number: the time in milliseconds since 2024, the number that the
// database has given the process, and a counter. As a text it is call_ and 19 digits.
const (
	callIDMark   = "call_"
	callIDDigits = 19
	callIDEpoch  = 1_704_067_200_000 // Unix milliseconds

	processBits = 12
	counterBits = 10
	timeShift   = processBits + counterBits
	processes   = 1 << processBits
)

// callIDs makes ids of calls. Two processes never have the same number at the same time, and
// one that gets the number of a former process begins after the last time in its ids: no two
// calls share an id, however clocks are set.
type callIDs struct {
	mu      sync.Mutex
	process int64 // 0: the database has not given one yet
	last    int64 // Unix milliseconds of the last id
	counter int64 // of the last id
}

// NewCallID makes the id of a call that begins at a time. Its time is later where an id with a
// later one was made before. It is empty until Migrate has succeeded: see WriteCalls.
func (s *Store) NewCallID(at time.Time) string {
	c := &s.callIDs
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == 0 {
		return ""
	}
	c.counter++
	if ms := at.UnixMilli(); ms > c.last {
		c.last, c.counter = ms, 0
	} else if c.counter>>counterBits != 0 {
		c.last, c.counter = c.last+1, 0
	}
	return callIDText((c.last-callIDEpoch)<<timeShift | c.process<<counterBits | c.counter)
}

// usedUntil is how long before its end a process says that it uses the number that the database
// has given it.
const usedUntil = 10 * time.Minute

// takeProcess takes the number of a process that has not used it for the longest time.
func (s *Store) takeProcess(ctx context.Context, now time.Time) error {
	var number struct{ N, UsedUntil int64 }
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := s.advisoryLock(tx, "ledger_processes"); err != nil {
			return err
		}
		query := "SELECT COALESCE(MAX(n), 0) + 1 AS n, 0 AS used_until FROM ledger_processes"
		var taken int64
		if err := tx.Table("ledger_processes").Count(&taken).Error; err != nil {
			return err
		}
		if taken == processes-1 {
			query = "SELECT n, used_until FROM ledger_processes ORDER BY used_until, n LIMIT 1"
		}
		if err := tx.Raw(query).Scan(&number).Error; err != nil {
			return err
		}
		return useProcess(tx, number.N, max(now.UnixMilli(), number.UsedUntil)+usedUntil.Milliseconds())
	})
	if err != nil {
		return err
	}
	s.callIDs.mu.Lock()
	defer s.callIDs.mu.Unlock()
	s.callIDs.process, s.callIDs.last, s.callIDs.counter = number.N, number.UsedUntil, 0
	return nil
}

func useProcess(tx *gorm.DB, number, until int64) error {
	return tx.Exec("INSERT INTO ledger_processes (n, used_until) VALUES (?, ?) "+
		"ON CONFLICT (n) DO UPDATE SET used_until = EXCLUDED.used_until", number, until).Error
}

// UseCallIDs says to the database that this process goes on making ids. It has to be called
// more often than every ten minutes.
func (s *Store) UseCallIDs(ctx context.Context, now time.Time) error {
	s.callIDs.mu.Lock()
	number, last := s.callIDs.process, s.callIDs.last
	s.callIDs.mu.Unlock()
	if number == 0 {
		return nil
	}
	return s.run(ctx, func(db *gorm.DB) error {
		return useProcess(db, number, max(now.UnixMilli(), last)+usedUntil.Milliseconds())
	})
}

func callIDText(n int64) string {
	digits := strconv.FormatInt(n, 10)
	return callIDMark + strings.Repeat("0", max(callIDDigits-len(digits), 0)) + digits
}

// callNumber is the number of an id; not ok for an id of a former release, and for a text that
// is none.
func callNumber(id string) (n int64, ok bool) {
	digits, ok := strings.CutPrefix(id, callIDMark)
	if !ok || len(digits) != callIDDigits || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}

// firstCallNumber is less than the numbers of all calls that begin at a time or later, and at
// least as great as those of calls in the milliseconds before it.
func firstCallNumber(at time.Time) int64 {
	return max(at.UnixMilli()-callIDEpoch, 0) << timeShift
}

// IsCallID says whether a text has the form of the id of a call, also of a former release.
func IsCallID(id string) bool {
	_, ok := callNumber(id)
	return ok || isFormerID(id)
}

// CallBegan is about the time at which a call with this id began.
func CallBegan(id string) time.Time {
	if n, ok := callNumber(id); ok {
		return time.UnixMilli(n>>timeShift + callIDEpoch)
	}
	return formerBegan(id)
}

// The id of a call of a former release is call_, its time in 16 digits of microseconds, and a
// suffix that makes it unique.
const formerDigits = 16

func formerID(micro int64, suffix string) string {
	const leading = 1e16 // gives the number 17 digits, of which the first is cut off
	return callIDMark + strconv.FormatInt(leading+max(micro, 0), 10)[1:] + suffix
}

func isFormerID(id string) bool {
	const longest = 64
	rest, ok := strings.CutPrefix(id, callIDMark)
	if !ok || len(rest) < formerDigits || len(rest) > longest {
		return false
	}
	isNo := func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	return strings.Trim(rest[:formerDigits], "0123456789") == "" && !strings.ContainsFunc(rest, isNo)
}

func formerBegan(id string) time.Time {
	rest := strings.TrimPrefix(id, callIDMark)
	n, _ := strconv.ParseInt(rest[:min(len(rest), formerDigits)], 10, 64)
	return time.UnixMicro(n)
}

// numberOf is the number of an id. That of an id of a former release is of its time, and the
// same each time; its row may have one of the following, where another has it.
func numberOf(id string) int64 {
	if n, ok := callNumber(id); ok {
		return n
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(id))
	return firstCallNumber(formerBegan(id)) | int64(hash.Sum32())&(1<<timeShift-1)
}
