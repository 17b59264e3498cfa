package explore

import (
	"context"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// sent keeps what goes to the server on one connection while somebody watches, with its arguments as literals, so that a
// schedule can be written down for people who have no Go.
type sent struct {
	on   atomic.Bool
	mu   sync.Mutex
	list []string
}

var _ pgx.QueryTracer = (*sent)(nil)

// TraceQueryStart implements pgx.QueryTracer.
func (s *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	if s.on.Load() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.list = append(s.list, inline(d.SQL, d.Args))
	}
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *sent) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// notes puts what each session has sent to its own latest turn: a statement that waited goes on in somebody else's turn, and
// was sent in its own. What was sent before the first turn, such as a BEGIN, belongs to that.
func (w *world) notes() {
	if !w.e.watch {
		return
	}
	for _, s := range w.sessions {
		list := s.backend.sent.take()
		for i := len(w.trace) - 1; i >= 0; i-- {
			if w.trace[i].Session == s.id {
				w.trace[i].Sent = append(w.trace[i].Sent, append(s.unsent, list...)...)
				s.unsent, list = nil, nil
				break
			}
		}
		s.unsent = append(s.unsent, list...)
	}
}

var argument = regexp.MustCompile(`\$(\d+)`)

// inline writes a statement's arguments into it.
func inline(sql string, args []any) string {
	return argument.ReplaceAllStringFunc(sql, func(ref string) string {
		n, err := strconv.Atoi(ref[1:])
		if err != nil || n < 1 || n > len(args) {
			return ref
		}
		return literal(args[n-1])
	})
}

// literal is a value as SQL text.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return quote(v)
	case []byte:
		return `'\x` + hex.EncodeToString(v) + `'::bytea`
	case time.Time:
		return quote(v.Format(time.RFC3339Nano)) + "::timestamptz"
	case time.Duration:
		return quote(fmt.Sprintf("%d microseconds", v.Microseconds())) + "::interval"
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return "NULL"
		}
		return literal(r.Elem().Interface())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return fmt.Sprint(v)
	case reflect.Slice:
		var items []string
		for i := range r.Len() {
			items = append(items, literal(r.Index(i).Interface()))
		}
		return "ARRAY[" + strings.Join(items, ", ") + "]"
	}
	return quote(fmt.Sprint(v))
}

// quote is a string literal. A brace is written as an escape, because isolationtester's format takes the first closing one for
// the end of a block, wherever it stands.
func quote(s string) string {
	plain := strings.ReplaceAll(s, "'", "''")
	if !strings.ContainsAny(s, `\{}`) {
		return "'" + plain + "'"
	}
	return "E'" + strings.NewReplacer(`\`, `\\`, "{", `\x7b`, "}", `\x7d`).Replace(plain) + "'"
}
