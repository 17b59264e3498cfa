package service

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// line is what a handler adds to its request's line in the log.
type line struct {
	key, intent, sqlstate string
}

// lineKey is the context's key for it.
type lineKey struct{}

// note puts key and intent on the request's line. A key that looks personal does not belong in a log, of all places.
func note(r *http.Request, key, intent string) {
	if l, ok := r.Context().Value(lineKey{}).(*line); ok {
		l.key, l.intent = shown(key), shown(intent)
	}
}

func noteSQLState(r *http.Request, state string) {
	if l, ok := r.Context().Value(lineKey{}).(*line); ok {
		l.sqlstate = state
	}
}

func shown(key string) string {
	if looksPersonal(key) != "" {
		return "(hidden: it looks personal)"
	}
	return key
}

// logged writes a line for each request when it has been answered.
func logged(h http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, l, status := time.Now(), &line{}, &statusWriter{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(status, r.WithContext(context.WithValue(r.Context(), lineKey{}, l)))
		attrs := []slog.Attr{
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status.status),
			slog.Float64("ms", float64(time.Since(began).Microseconds())/1000),
		}
		if l.key != "" {
			attrs = append(attrs, slog.String("key", l.key))
		}
		if l.intent != l.key {
			attrs = append(attrs, slog.String("intent", l.intent))
		}
		if status.Header().Get(ReplayedHeader) != "" {
			attrs = append(attrs, slog.Bool("replayed", true))
		}
		if l.sqlstate != "" {
			attrs = append(attrs, slog.String("sqlstate", l.sqlstate))
		}
		log.LogAttrs(r.Context(), slog.LevelInfo, "answered", attrs...)
	})
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
