//go:build unix

package servertest

// NewPostgres is StartPostgres for a program that is no test: it ends the server with
// Remove. The other methods of the server are for tests.
func NewPostgres(settings ...Setting) (*Server, error) {
	from, err := postgresSource()
	if err != nil {
		return nil, err
	}
	return startPostgres(from, settings...)
}

// NewRedis is StartRedis for a program that is no test, as NewPostgres.
func NewRedis(settings ...Setting) (*Server, error) {
	from, err := redisSource()
	if err != nil {
		return nil, err
	}
	return startRedis(from, settings...)
}

// Remove ends the server and removes its data.
func (s *Server) Remove() error { return s.run.remove() }

// PID is the server's process, the parent of its others; 0 for a server in a container.
func (s *Server) PID() int {
	if s.run.container != "" {
		return 0
	}
	return s.run.cmd.Process.Pid
}
