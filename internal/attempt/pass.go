package attempt

import (
	"context"
	"fmt"
	"time"
)

// Pass lets time pass for what is in the table: it becomes older by that much, by the server's clock, and nobody waits. What is made
// afterwards is new. The same as to move the clock, but that a server's cannot be moved.
func (l *Lab) Pass(ctx context.Context, d time.Duration) error {
	_, err := l.Aside.Exec(ctx, `/* time passes */
		UPDATE cobranca
		   SET criada_em = criada_em - make_interval(secs => $1)`,
		d.Seconds())
	if err != nil {
		return fmt.Errorf("let time pass: %w", err)
	}
	return nil
}
