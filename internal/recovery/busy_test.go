package recovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/recovery"
	"idemlab/scenarios"
)

// Between the question and the record somebody else finishes the row, removes it, or holds it: what they do stands.
func TestARowInOtherHandsIsLeft(t *testing.T) {
	for name, meanwhile := range map[string]string{
		"finished": `UPDATE cobranca SET status = 'CAPTURADA', resposta_http = 201, resposta_corpo = '{"theirs": true}'`,
		"removed":  `DELETE FROM cobranca`,
	} {
		t.Run(name, func(t *testing.T) {
			l := lab(t, scenarios.InsertFirst, acquirer.Options{})
			try(t, l, attempt.AfterCapture)
			other := connect(t, l, pgx.ReadCommitted)
			acq := hook{l.Acquirer.For(""), func() {
				if _, err := other.Exec(t.Context(), meanwhile); err != nil {
					t.Error(err)
				}
			}}
			r, err := recovery.Reconcile(t.Context(), l.Aside, acq, recovery.Options{})
			if err != nil || fates(r) != "changed" || r.Orphans[0].Body != "" || r.Orphans[0].Reason == "" {
				t.Errorf("%+v, %v", r.Orphans, err)
			}
			var theirs int
			if err := other.QueryRow(t.Context(), `SELECT count(*) FROM cobranca WHERE resposta_corpo = '{"theirs": true}'`).Scan(&theirs); err != nil || (name == "finished") != (theirs == 1) {
				t.Errorf("%d rows as they left them, %v", theirs, err)
			}
		})
	}
}

// The record waits for whoever holds the row, and is refused: by its level where that one changes it, by lock_timeout where he does not let go.
func TestARowThatIsHeldIsLeft(t *testing.T) {
	for name, level := range map[string]pgx.TxIsoLevel{"40001": pgx.RepeatableRead, "55P03": pgx.ReadCommitted} {
		t.Run(name, func(t *testing.T) {
			l := lab(t, scenarios.InsertFirst, acquirer.Options{})
			try(t, l, attempt.AfterCapture)
			holder, conn := connect(t, l, pgx.ReadCommitted), connect(t, l, level)
			if name == "55P03" {
				if _, err := conn.Exec(t.Context(), `SET lock_timeout = '1ms'`); err != nil {
					t.Fatal(err)
				}
			}
			tx, err := holder.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context())
			acq := hook{l.Acquirer.For(""), func() {
				if _, err := tx.Exec(t.Context(), `UPDATE cobranca SET fase = 'in other hands'`); err != nil {
					t.Error(err)
				}
			}}
			done := make(chan recovery.Report)
			go func() {
				r, err := recovery.Reconcile(t.Context(), conn, acq, recovery.Options{})
				if err != nil {
					t.Error(err)
				}
				done <- r
			}()
			if name == "40001" {
				for waits := false; !waits; {
					if err := l.Aside.QueryRow(t.Context(), `SELECT cardinality(pg_blocking_pids($1)) > 0`, conn.PgConn().PID()).Scan(&waits); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Millisecond) // a wait announces itself nowhere
				}
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if r := <-done; fates(r) != "changed" {
				t.Errorf("%+v", r.Orphans)
			}
		})
	}
}

// hook acts when the acquirer has been asked, before the asker hears.
type hook struct {
	recovery.Finder
	then func()
}

func (h hook) Find(ctx context.Context, key string) (scenarios.Receipt, bool, error) {
	r, found, err := h.Finder.Find(ctx, key)
	h.then()
	return r, found, err
}
