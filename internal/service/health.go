package service

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"time"
)

// healthLimit is what PostgreSQL gets to answer. Whoever asks wants to know soon.
const healthLimit = 2 * time.Second

// onlyGet is the answer to any other method where there is something to look at, and nothing else.
func onlyGet() problem {
	return problem{kind: "method", Status: http.StatusMethodNotAllowed, Title: "Only GET is answered here", allow: "GET, HEAD"}
}

// OnlyGet refuses every other method as the service does: for what is put beside it.
func OnlyGet(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			onlyGet().write(w)
			return
		}
		h(w, r)
	}
}

// serveHealth says that the process is alive, which it does by answering, and whether PostgreSQL answers it.
func (s *Service) serveHealth(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.refuse(w, r, onlyGet())
		return
	}
	said := map[string]string{"status": "ok", "postgresql": "answers"}
	maps.Copy(said, s.c.About)
	status := http.StatusOK
	ctx, cancel := context.WithTimeout(r.Context(), healthLimit)
	defer cancel()
	if err := s.side.Ping(ctx); err != nil {
		said["status"], said["postgresql"] = "unavailable", "does not answer: "+err.Error()
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	_ = enc.Encode(said) // a client that has gone learns nothing from an error here
}
