package services

// What the gateway's parts say of themselves to those who watch over it. None
// of it waits for anything.

// ProvidersUp says of each provider how it is: 1 healthy, 0.5 degraded, 0
// unhealthy or not configured.
func (c *Chat) ProvidersUp() map[string]float64 {
	all := map[string]float64{}
	for name, status := range c.Statuses() {
		switch status {
		case Healthy:
			all[name] = 1
		case Degraded:
			all[name] = 0.5
		default:
			all[name] = 0
		}
	}
	return all
}

// CircuitsOpen says of each configured provider the share of its keys whose
// circuit is open.
func (c *Chat) CircuitsOpen() map[string]float64 {
	all := map[string]float64{}
	for name, u := range c.Upstreams {
		open := 0
		for _, k := range u.keys {
			if k.open() {
				open++
			}
		}
		all[name] = float64(open) / float64(len(u.keys))
	}
	return all
}

// DatabaseUp is 1 when the last probe found the database well, and 0 when it
// did not or there was none yet.
func (h *Health) DatabaseUp() float64 { return h.up(&h.database) }

// CacheUp is DatabaseUp for the cache.
func (h *Health) CacheUp() float64 { return h.up(&h.cache) }

func (h *Health) up(status *string) float64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if *status == Healthy {
		return 1
	}
	return 0
}

// Remembered is how many keys need no database to be known, good ones and such
// as open nothing.
func (k *Keys) Remembered() (n int) {
	for i := range k.cache.shards {
		s := &k.cache.shards[i]
		s.mu.RLock()
		n += len(s.good) + len(s.refused)
		s.mu.RUnlock()
	}
	return n
}
