package acquirer

import (
	"cmp"
	"context"
	"errors"
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
// An error says what is wrong with the URL, and what to say; it repeats none of it but the port, since a run's own acquirer has a token in it.
func At(base string, conns int) (Elsewhere, error) {
	no := func(why string) (Elsewhere, error) {
		return nil, errors.New(why + "; say the first line that idemlab acquirer prints, such as http://127.0.0.1:8081, or smtp://127.0.0.1:8025 for e-mails")
	}
	u, err := url.Parse(base)
	if err != nil {
		return no("it is no URL")
	}
	if n, err := strconv.Atoi(cmp.Or(u.Port(), "1")); err != nil || n < 1 || n > 65535 { // url.Parse lets any number pass
		return no(u.Port() + " is no port from 1 to 65535")
	}
	switch {
	case u.Scheme != "smtp" && u.Scheme != "http" && u.Scheme != "https":
		return no("it is no URL of http, https or smtp")
	case u.Hostname() == "":
		return no("it names no host")
	case u.Scheme == "smtp":
		return DialSMTP(base, conns)
	}
	return Dial(base, conns), nil
}

// Effect is money: whatever takes e-mails speaks SMTP.
func (r *Remote) Effect() scenarios.Effect { return scenarios.Money }

// Greet asks for the rules, which counts nothing.
func (r *Remote) Greet(ctx context.Context) error {
	_, _, err := r.Rules(ctx)
	return err
}
