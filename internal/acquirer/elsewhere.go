package acquirer

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"idemlab/scenarios"
)

// Elsewhere is an acquirer in another process, behind whichever of its doors.
type Elsewhere interface {
	// For binds the acquirer to an intent.
	For(intent string) scenarios.Acquirer
	// Greet asks for nothing that counts: an error says why a capture would not get there.
	Greet(ctx context.Context) error
	// Effect is what a capture is there.
	Effect() scenarios.Effect
	// Close drops the idle connections.
	Close()
}

// ListenFor opens the door at which an effect is asked for, until stop is called, and returns the URL to hand to At.
func (a *Acquirer) ListenFor(ctx context.Context, e scenarios.Effect) (url string, stop func() error, err error) {
	if e == scenarios.EMail {
		return a.ListenSMTP(ctx)
	}
	return a.Listen(ctx)
}

// At prepares a client for the acquirer at a URL, by its scheme: http or https for a Remote, smtp for a Mailer. It connects to nothing yet.
func At(base string, conns int) (Elsewhere, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("no acquirer's URL: say http://HOST:PORT or smtp://HOST:PORT: %w", err)
	}
	if n, err := strconv.Atoi(cmp.Or(u.Port(), "1")); err != nil || n < 1 || n > 65535 { // url.Parse lets any number pass
		return nil, fmt.Errorf("no acquirer's URL: %q is no port from 1 to 65535", u.Port())
	}
	switch {
	case u.Scheme == "smtp":
		return DialSMTP(base, conns)
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return Dial(base, conns), nil
	}
	return nil, fmt.Errorf("no acquirer's URL: say http://HOST:PORT, or smtp://HOST:PORT for e-mails")
}

// Effect is money: whatever takes e-mails speaks SMTP.
func (r *Remote) Effect() scenarios.Effect { return scenarios.Money }

// Greet asks for the rules, which counts nothing.
func (r *Remote) Greet(ctx context.Context) error {
	_, _, err := r.Rules(ctx)
	return err
}
