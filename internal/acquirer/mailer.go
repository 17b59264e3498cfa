package acquirer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"

	"idemlab/scenarios"
)

// Mailer is an acquirer behind SMTP: what strategies call a capture is an e-mail to the customer. It is safe for concurrent use.
type Mailer struct {
	addr, sender string
	keep         int

	mu   sync.Mutex
	idle []*mailLine
}

// mailLine is a connection on which messages are sent one after another.
type mailLine struct {
	*smtp.Client
	conn net.Conn
}

// DialSMTP prepares a client for the mail server at a URL, smtp://TOKEN@HOST:PORT; without a token it sends as any shop. It keeps up to
// conns connections ready and makes as many more as are wanted, because attempts that queue for one would not reach the server together.
// Nothing is sent twice behind anybody's back.
func DialSMTP(base string, conns int) (*Mailer, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "smtp" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("no mail server's URL: say smtp://HOST:PORT, such as smtp://127.0.0.1:2525")
	}
	port, sender := u.Port(), u.User.Username()
	if port == "" {
		port = "25"
	}
	if sender == "" {
		sender = "shop"
	}
	return &Mailer{addr: net.JoinHostPort(u.Hostname(), port), sender: sender + "@" + shopDomain, keep: conns}, nil
}

// Close drops the idle connections.
func (m *Mailer) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.idle {
		_ = l.Close() // nothing is under way on it
	}
	m.idle, m.keep = nil, 0
}

// Effect is the e-mail.
func (m *Mailer) Effect() scenarios.Effect { return scenarios.EMail }

// Greet says hello to the server and sends nothing: an error says why no message would get there.
func (m *Mailer) Greet(ctx context.Context) error {
	l, err := m.dial(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, l.hangUp)()
	defer l.hangUp()
	return l.Hello("localhost")
}

// For binds the mail server to an intent.
func (m *Mailer) For(intent string) scenarios.Acquirer { return mailBound{m, intent} }

type mailBound struct {
	m      *Mailer
	intent string
}

// Capture sends one e-mail. A 550 is a word on the message; whatever else is not a 250 is none. Some of it, such as a server that does
// not answer at all, can only have come before the message; it is unknown all the same, as it is over HTTP.
func (b mailBound) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	r, err := b.m.send(ctx, letter{b.intent, c})
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err() // the closed connection is how it ended, not why
		}
		return scenarios.Receipt{}, fmt.Errorf("%w: %v", scenarios.ErrOutcomeUnknown, err)
	}
	return r, nil
}

// Find cannot answer: SMTP has no command that asks what became of a message.
func (b mailBound) Find(context.Context, string) (scenarios.Receipt, bool, error) {
	return scenarios.Receipt{}, false, fmt.Errorf("%w: SMTP has no way to ask whether a message went out", scenarios.ErrCannotAsk)
}

// send sends one message on a connection of its own. Its context closes that one: SMTP has no way to take a message back.
func (m *Mailer) send(ctx context.Context, l letter) (scenarios.Receipt, error) {
	line, err := m.line(ctx)
	if err != nil {
		return scenarios.Receipt{}, err
	}
	inTime := context.AfterFunc(ctx, line.hangUp)
	r, err := line.send(m.sender, l)
	if inTime() && err == nil && r.Approved {
		m.giveBack(line)
	} else {
		line.hangUp()
	}
	return r, err
}

// line is an idle connection that still answers, or a new one. Nothing of a message has been sent where one no longer does.
func (m *Mailer) line(ctx context.Context) (*mailLine, error) {
	for {
		m.mu.Lock()
		if len(m.idle) == 0 {
			m.mu.Unlock()
			return m.dial(ctx)
		}
		l := m.idle[len(m.idle)-1]
		m.idle = m.idle[:len(m.idle)-1]
		m.mu.Unlock()
		inTime := context.AfterFunc(ctx, l.hangUp)
		err := l.Noop()
		if !inTime() {
			return nil, ctx.Err()
		}
		if err == nil {
			return l, nil
		}
		l.hangUp()
	}
}

func (m *Mailer) dial(ctx context.Context) (*mailLine, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", m.addr)
	if err != nil {
		return nil, err
	}
	return &mailLine{smtp.NewClient(conn), conn}, nil
}

func (m *Mailer) giveBack(l *mailLine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) >= m.keep {
		l.hangUp()
		return
	}
	m.idle = append(m.idle, l)
}

// hangUp closes the connection whatever it is being used for.
func (l *mailLine) hangUp() { _ = l.conn.Close() }

// send has one message with one recipient.
func (l *mailLine) send(sender string, letter letter) (scenarios.Receipt, error) {
	if err := l.Mail(sender, nil); err != nil {
		return scenarios.Receipt{}, fmt.Errorf("MAIL: %w", err)
	}
	if err := l.Rcpt(letter.to(), nil); err != nil {
		return refusal("RCPT", err)
	}
	data, err := l.Data()
	if err != nil {
		return refusal("DATA", err)
	}
	if _, err := data.Write(letter.text(time.Now())); err != nil {
		return scenarios.Receipt{}, fmt.Errorf("DATA: %w", err)
	}
	said, err := data.CloseWithResponse()
	if err != nil {
		return refusal("end of DATA", err)
	}
	return scenarios.Receipt{ID: queueID(said.StatusText), Approved: true}, nil
}

// refusal is a 550: no, and no again if asked again. Any other error is passed on.
func refusal(after string, err error) (scenarios.Receipt, error) {
	var said *smtp.SMTPError
	if errors.As(err, &said) && said.Code == 550 {
		return scenarios.Receipt{ID: queueID(said.Message)}, nil
	}
	return scenarios.Receipt{}, fmt.Errorf("%s: %w", after, err)
}

// queueID is the name that the server gave a message, or, where it has none in a known form, the beginning of what it said.
func queueID(said string) string {
	if _, name, ok := strings.Cut(said, queuedAs); ok {
		said = name
	}
	const most = 100
	said = oneLine(strings.ToValidUTF8(said, "?"))
	if r := []rune(said); len(r) > most {
		said = string(r[:most])
	}
	return said
}
