package acquirer

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-smtp"
)

// Limits of the mail server. The time is what a server should wait for a client's next command (RFC 5321, section 4.5.3.2.7): clients
// keep connections between messages.
const (
	mostLetter = 64 << 10
	idleLimit  = 5 * time.Minute
	writeLimit = 10 * time.Second
)

// ListenSMTP is the acquirer's third door: it serves as a mail server on loopback until stop is called, and returns the URL to hand to
// DialSMTP. Each e-mail is a capture. The token, which the sender's address must have, keeps other users of the machine out of a run that
// is not theirs.
//
// A message counts when its data has arrived whole, and before it is answered. The 250 says that the server has taken responsibility for
// the message (RFC 5321, section 6.1); whether it is heard is another matter. A client that loses it cannot know, and one that sends
// again makes a duplicate: RFC 1047, "Duplicate messages and SMTP", said so in 1988, and nothing has been added to the protocol since.
func (a *Acquirer) ListenSMTP(ctx context.Context) (url string, stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for e-mails: %w", err)
	}
	token := rand.Text()
	return fmt.Sprintf("smtp://%s@%s", token, l.Addr()), a.ServeSMTP(l, token), nil
}

// ServeSMTP serves as a mail server on l; an empty token lets everybody in. stop cuts off whatever is under way, and returns when
// nothing is counted any more.
func (a *Acquirer) ServeSMTP(l net.Listener, token string) (stop func() error) {
	work, cut := context.WithCancel(context.Background()) // until stop, like the connections: no request has one of its own
	conns := &accepted{Listener: l, open: map[net.Conn]bool{}}
	srv := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &catcher{a: a, token: token, conn: c, work: work}, nil
	}))
	srv.Domain, srv.MaxMessageBytes, srv.MaxRecipients = shopDomain, mostLetter, 1
	srv.ReadTimeout, srv.WriteTimeout = idleLimit, writeLimit
	srv.ErrorLog = panics{log.Default()}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(conns) // ends when stop closes the listener
	}()
	return sync.OnceValue(func() error {
		err := l.Close()
		<-served // from here on the server starts no handler, and waits below for those that it has
		cut()
		conns.closeAll()
		_ = srv.Shutdown(context.Background()) // its own error is that the listener is closed already
		return err
	})
}

// accepted remembers the open connections: go-smtp either closes them or waits for their handlers (Close, Shutdown), and stop wants both.
type accepted struct {
	net.Listener
	mu   sync.Mutex
	open map[net.Conn]bool
}

func (l *accepted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = true
	return forgotten{c, l}, nil
}

func (l *accepted) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		_ = c.Close() // its handler may have been quicker
	}
}

// forgotten is a connection that is forgotten when it is closed.
type forgotten struct {
	net.Conn
	by *accepted
}

func (c forgotten) Close() error {
	c.by.mu.Lock()
	delete(c.by.open, c.Conn)
	c.by.mu.Unlock()
	return c.Conn.Close()
}

// panics passes on what is a defect of ours, and leaves out that clients hang up.
type panics struct{ to *log.Logger }

func (p panics) Printf(format string, v ...any) {
	if strings.HasPrefix(format, "panic") {
		p.to.Printf(format, v...)
	}
}

func (panics) Println(...any) {}

// catcher is one client's session.
type catcher struct {
	a     *Acquirer
	token string
	conn  *smtp.Conn
	work  context.Context
}

// Mail lets in whoever knows the token. Its 550 comes before the message, and says nothing about it.
func (s *catcher) Mail(from string, _ *smtp.MailOptions) error {
	user, _, _ := strings.Cut(from, "@")
	if s.token != "" && subtle.ConstantTimeCompare([]byte(user), []byte(s.token)) != 1 {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "this server is another run's"}
	}
	return nil
}

func (s *catcher) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (s *catcher) Reset()                               {}
func (s *catcher) Logout() error                        { return nil }

// Data is a capture: what the ledger has been told is told to the client here, unless a fault has it otherwise.
func (s *catcher) Data(r io.Reader) error {
	if _, chunked := r.(*io.PipeReader); chunked {
		// go-smtp (0.26) takes a last chunk (BDAT, RFC 3030) that a lost connection cut short for a whole one.
		return &smtp.SMTPError{Code: 502, EnhancedCode: smtp.EnhancedCode{5, 5, 1}, Message: "say DATA: chunks are not counted"}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err // not whole: nothing to count
	}
	l, err := readLetter(text)
	if err != nil {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 6, 0}, Message: oneLine(err.Error())}
	}
	receipt, err := s.a.capture(s.work, l.intent, l.charge)
	switch {
	case err == nil && receipt.Approved:
		return &smtp.SMTPError{Code: 250, EnhancedCode: smtp.EnhancedCode{2, 0, 0}, Message: "OK: " + queuedAs + receipt.ID} // the way to a 250 with words
	case err == nil:
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "refused, " + queuedAs + receipt.ID}
	case errors.Is(err, errNoAnswer), s.work.Err() != nil:
		_ = s.conn.Close() // there is no answer to lose otherwise
		return err
	}
	return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "try again later"}
}

// queuedAs stands in front of the name that the server gives a message, as Postfix says it.
const queuedAs = "queued as "

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
