// Package promptcache says why a provider's prompt cache did not have the prompt of a call. It
// compares each call of a session with the call before it: of the same caller, session, agent and
// requested model. Of a prompt only keyed hashes are kept, for an hour.
package promptcache

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/go-json-experiment/json"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/redis/go-redis/v9"

	"modelgateway/models"
)

const (
	keptFor    = time.Hour
	keptBytes  = 16 << 20 // of all calls together, in this process
	keptCalls  = 1 << 16
	callBytes  = 256 // of one, beside its hashes
	workers    = 4   // that ask Redis
	waiting    = 256 // tasks for Redis; further ones are dropped
	redisPause = time.Second
	secretName = "prompt_hashes"
)

// Service follows the prompts of sessions.
type Service struct {
	store  *models.Store
	redis  models.Redis // nil: the calls of other replicas are not known
	now    func() time.Time
	secret atomic.Pointer[[]byte] // nil: not loaded
	tasks  chan func(context.Context)
	until  atomic.Int64 // Unix nanoseconds of the end of a pause, after Redis has failed

	mu    sync.Mutex
	calls *simplelru.LRU[uint64, *kept]
	bytes int
}

// New returns a service without its secret: until Load has read it no prompt is followed.
func New(store *models.Store, redis models.Redis, now func() time.Time) *Service {
	s := &Service{store: store, redis: redis, now: now, tasks: make(chan func(context.Context), waiting)}
	s.calls, _ = simplelru.NewLRU(keptCalls, func(_ uint64, k *kept) { s.bytes -= k.size() }) // fails only for a size of 0 or less
	return s
}

// Load reads the secret of the hashes, which the first replica makes.
func (s *Service) Load(ctx context.Context) error {
	fresh := make([]byte, 32) //nolint:mnd // bytes of a key
	_, _ = rand.Read(fresh)   // never returns an error
	value, err := s.store.Secret(ctx, secretName, fresh, s.now().UnixMicro())
	if err != nil {
		return fmt.Errorf("secret of the hashes of prompts: %w", err)
	}
	s.secret.Store(&value)
	return nil
}

// Run reads from Redis and writes to it, until ctx ends: no call waits for that.
func (s *Service) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case task := <-s.tasks:
					task(ctx)
				}
			}
		})
	}
	all.Wait()
}

// kept is what is kept of a call.
type kept struct {
	BeganAt                int64 // Unix milliseconds
	Provider, Model, Key   string
	Input, Cached, Written int64 // tokens
	ChargesWrites          bool
	Hour                   bool // the provider keeps the prompt for an hour
	Sizes                  [firstMessage + 1]int
	Client                 hashes
	Upstream               hashes // of what the provider was sent; empty where that is the client's prompt
	Covered                int    // how much of Client Upstream goes with: it is not made anew for each call
}

func (k *kept) size() int { return callBytes + len(k.Client) + len(k.Upstream) }

// Look is the look-up of the last call of a conversation.
type Look struct {
	service *Service
	key     uint64
	shared  atomic.Pointer[kept] // that Redis has; nil: not found, or not yet
}

// Look begins to look up the last call with these names. It is nil, and nothing is followed,
// before the secret has been read.
func (s *Service) Look(names ...string) *Look {
	if s == nil || s.secret.Load() == nil {
		return nil
	}
	var d xxhash.Digest
	s.reset(&d)
	for _, name := range names {
		_, _ = d.WriteString(name)
		_, _ = d.Write([]byte{0}) // which no name has
	}
	l := &Look{service: s, key: d.Sum64()}
	if s.redis != nil {
		s.ask(l.read)
	}
	return l
}

// reset begins a hash with the secret.
func (s *Service) reset(d *xxhash.Digest) {
	d.Reset()
	_, _ = d.Write(*s.secret.Load())
}

// newest is the last call, as far as it is known here and now.
func (l *Look) newest() *kept {
	s := l.service
	s.mu.Lock()
	last, _ := s.calls.Get(l.key)
	s.mu.Unlock()
	if shared := l.shared.Load(); last == nil || shared != nil && shared.BeganAt > last.BeganAt {
		last = shared
	}
	if last == nil || s.now().UnixMilli()-last.BeganAt > keptFor.Milliseconds() {
		return nil
	}
	return last
}

// keep makes a call the last one.
func (l *Look) keep(k *kept) {
	s := l.service
	s.mu.Lock()
	s.calls.Remove(l.key)
	s.calls.Add(l.key, k)
	for s.bytes += k.size(); s.bytes > keptBytes; {
		s.calls.RemoveOldest()
	}
	s.mu.Unlock()
	if s.redis != nil {
		s.ask(func(ctx context.Context) error { return l.write(ctx, k) })
	}
}

// ask has a task done on another goroutine. It is dropped where many wait, and for a second after
// Redis has failed.
func (s *Service) ask(task func(context.Context) error) {
	if s.now().UnixNano() < s.until.Load() {
		return
	}
	select {
	case s.tasks <- func(ctx context.Context) {
		if s.now().UnixNano() < s.until.Load() {
			return
		}
		if err := task(ctx); err != nil && ctx.Err() == nil {
			s.until.Store(s.now().Add(redisPause).UnixNano())
		}
	}:
	default:
	}
}

func (l *Look) read(ctx context.Context) error {
	pipe := l.service.redis.TxPipeline()
	found := pipe.Get(ctx, l.redisKey())
	_, err := pipe.Exec(ctx)
	switch text, _ := found.Bytes(); {
	case err == redis.Nil: //nolint:errorlint // as Get returns it
		return nil
	case err != nil:
		return err
	default:
		k := new(kept)
		if json.Unmarshal(text, k) == nil { // else another version has written it
			l.shared.Store(k)
		}
		return nil
	}
}

func (l *Look) write(ctx context.Context, k *kept) error {
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return l.service.redis.SetArgs(ctx, l.redisKey(), text, redis.SetArgs{TTL: keptFor}).Err()
}

func (l *Look) redisKey() string { return "mgw:prompt:" + strconv.FormatUint(l.key, 36) } //nolint:mnd // digits and letters
