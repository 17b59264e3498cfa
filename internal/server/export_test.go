//go:build linux

package server

// What the tests of the outside need from the inside.

func (s *Server) SupervisorPID() int { return s.own.helper.cmd.Process.Pid }
func (s *Server) Folder() string     { return s.own.dir }
func (h *Schema) LockPID() uint32    { return h.lock.PgConn().PID() }
func (h *Schema) Key() int64         { return h.key }
