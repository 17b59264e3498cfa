package acquirer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"idemlab/scenarios"
)

// catch starts the mail server and returns its URL.
func catch(t *testing.T, a *Acquirer) string {
	t.Helper()
	url, stop, err := a.ListenSMTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return url
}

// mailer starts the mail server and a client of it.
func mailer(t *testing.T, a *Acquirer) *Mailer {
	t.Helper()
	m, err := DialSMTP(catch(t, a), 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// telnet is a client that types what it likes.
type telnet struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dialTelnet(t *testing.T, url string) *telnet {
	t.Helper()
	conn, err := net.Dial("tcp", url[strings.Index(url, "@")+1:])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &telnet{t, conn, bufio.NewReader(conn)}
	c.hear("220")
	c.say("HELO localhost", "250")
	return c
}

func (c *telnet) hear(code string) string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, code) {
		c.t.Fatalf("heard %q, %v, want %s", line, err, code)
	}
	return line
}

func (c *telnet) say(line, code string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, line+"\r\n"); err != nil {
		c.t.Fatal(err)
	}
	return c.hear(code)
}

func tokenOf(url string) string {
	return strings.TrimPrefix(url[:strings.Index(url, "@")], "smtp://")
}

// What the ledger is told by e-mail is what it is told by any other door, and the client gets the ledger's own word on it.
func TestAnEMailIsACapture(t *testing.T) {
	a := New(Options{})
	m := mailer(t, a)
	for _, c := range []scenarios.Charge{
		{Key: "k", OrderID: 1, AmountCents: 25000},
		{Key: "chave é \r\n.\r\nX-Idemlab: " + strings.Repeat("=?&<>\"", 50), OrderID: -2, AmountCents: 1, Installment: 3},
	} {
		intent := "of " + c.Key
		r, err := m.For(intent).Capture(t.Context(), c)
		ledger := a.Ledger()
		if err != nil || !r.Approved || len(ledger) == 0 {
			t.Fatalf("%v, %v, ledger %v", r, err, ledger)
		}
		last := ledger[len(ledger)-1]
		if last.Charge != c || last.Intent != intent || last.Receipt != r {
			t.Errorf("the ledger has %+v, the client %+v", last, r)
		}
	}
	if n := len(m.idle); n != 1 {
		t.Errorf("%d connections for two messages one after the other", n)
	}
	if err := m.Greet(t.Context()); err != nil || len(a.Ledger()) != 2 {
		t.Errorf("a greeting: %v, %d entries", err, len(a.Ledger()))
	}
}

// A customer could read it, and any mail program could, too.
func TestALetterIsAnEMail(t *testing.T) {
	l := letter{"i", scenarios.Charge{Key: "k", OrderID: 7, AmountCents: 25005, Installment: 2}}
	text := l.text(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	m, err := mail.ReadMessage(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(m.Body)
	if err != nil || !strings.Contains(string(body), "your payment of R$ 250.05 for order 7, instalment 3.") {
		t.Errorf("%s, %v", body, err)
	}
	if to, err := m.Header.AddressList("To"); err != nil || to[0].Address != "order-7@customers.example" {
		t.Errorf("to %v, %v", to, err)
	}
	if at, err := m.Header.Date(); err != nil || at.Year() != 2026 {
		t.Errorf("at %v, %v", at, err)
	}
	other := l
	other.charge.Key = "k2"
	again, _ := mail.ReadMessage(strings.NewReader(string(l.text(time.Now()))))
	if id := m.Header.Get("Message-ID"); id != again.Header.Get("Message-ID") || strings.Contains(string(other.text(time.Now())), id) {
		t.Errorf("Message-ID %s does not say which key", id)
	}
	for line := range strings.Lines(string(text)) {
		if len(line) > 100 || !strings.HasSuffix(line, "\r\n") {
			t.Errorf("line %q", line)
		}
	}
}

// The same seed declines the same intents by any door, and an acquirer that deduplicates knows a key again by its Message-ID.
func TestDeclinesAndRepeatsByEMail(t *testing.T) {
	a := New(Options{DeclineShare: 0.5, Seed: 3, Dedup: true})
	m := mailer(t, a)
	declined := 0
	for i := range 20 {
		intent := fmt.Sprint(i)
		r, err := m.For(intent).Capture(t.Context(), charge(intent))
		if err != nil || r.ID == "" || r.Approved == a.declines(intent) {
			t.Errorf("%s: %v, %v, declines %v", intent, r, err, a.declines(intent))
		}
		if !r.Approved {
			declined++
		}
		again, err := m.For(intent).Capture(t.Context(), charge(intent))
		if err != nil || again != r || a.Counts()[intent].Repeats != 1 {
			t.Errorf("%s again: %v, %v, counts %+v", intent, again, err, a.Counts()[intent])
		}
	}
	if declined == 0 || declined == 20 {
		t.Errorf("%d of 20 declined", declined)
	}
}

// Whoever does not know the token gets nowhere, and learns it before the message; what is no letter of ours is refused, and neither is
// counted. A message that ends with its connection never arrived.
func TestWhatTheMailServerDoesNotCount(t *testing.T) {
	a := New(Options{})
	url := catch(t, a)
	stranger := dialTelnet(t, url)
	for _, from := range []string{"", "shop@shop.example", "x" + tokenOf(url) + "@shop.example"} {
		stranger.say("MAIL FROM:<"+from+">", "550")
	}
	other, err := DialSMTP("smtp://someone@"+url[strings.Index(url, "@")+1:], 1)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := other.For("i").Capture(t.Context(), charge("k")); !errors.Is(err, scenarios.ErrOutcomeUnknown) {
		t.Errorf("a client without the token was told %v, %v: nobody looked at its message", r, err)
	}

	good := string(letter{"i", charge("k")}.text(time.Now()))
	knows := dialTelnet(t, url)
	send := func(text, code string) {
		knows.say("MAIL FROM:<"+tokenOf(url)+"@shop.example>", "250")
		knows.say("RCPT TO:<a@customers.example>", "250")
		knows.say("DATA", "354")
		knows.say(text+"\r\n.", code)
	}
	for _, text := range []string{
		"", "Subject: hello\r\n\r\nhello", "nonsense",
		strings.Replace(good, messageID("k"), messageID("k2"), 1),
		strings.Replace(good, "order_id=1", "order_id=x", 1),
		strings.Replace(good, "amount_cents=", "amount_cents=x", 1),
		strings.Replace(good, "installment=1", "installment=", 1),
		strings.Replace(good, "installment=1", "installment=0", 1),
		strings.Replace(good, "key=k", "key=", 1),
		strings.Replace(good, "key=k", "key=%zz", 1),
	} {
		if text == good {
			t.Fatal("a case is no other message than the good one")
		}
		send(text, "550")
	}
	send(good+strings.Repeat("long\r\n", mostLetter/4), "552")
	knows.say("MAIL FROM:<"+tokenOf(url)+"@shop.example>", "250")
	knows.say("RCPT TO:<a@customers.example>", "250")
	knows.say("RCPT TO:<b@customers.example>", "452")
	knows.say(fmt.Sprintf("BDAT %d LAST\r\n%s", len(good), strings.TrimSuffix(good, "\r\n")), "502")
	if got := a.Ledger(); len(got) != 0 {
		t.Fatalf("counted: %+v", got)
	}
	send(good, "250")
	if got := a.Ledger(); len(got) != 1 {
		t.Errorf("the good one: %+v", got)
	}

	cut := dialTelnet(t, url)
	cut.say("MAIL FROM:<"+tokenOf(url)+"@shop.example>", "250")
	cut.say("RCPT TO:<a@customers.example>", "250")
	cut.say("DATA", "354")
	if _, err := io.WriteString(cut.conn, good); err != nil { // whole but for the dot
		t.Fatal(err)
	}
	if err := cut.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, cut.conn) // until the server has done with it
	if got := a.Ledger(); len(got) != 1 {
		t.Errorf("a message without its end: %+v", got)
	}
}

// What is lost is lost without a word, and what is answered badly is answered.
func TestFaultsAsTheyAreSpoken(t *testing.T) {
	a := New(Options{})
	url := catch(t, a)
	for _, c := range []struct {
		fault Fault
		said  string
		count int
	}{{LostRequest, "", 0}, {LostReply, "", 1}, {ErrorBefore, "451 ", 0}, {ErrorAfter, "451 ", 1}, {Decline, "550 ", 0}, {"", "250 ", 1}} {
		var rules []Rule
		if c.fault != "" {
			rules = []Rule{{Fault: c.fault}}
		}
		if err := a.SetFaults(rules); err != nil {
			t.Fatal(err)
		}
		intent := "of " + string(c.fault)
		client := dialTelnet(t, url)
		client.say("MAIL FROM:<"+tokenOf(url)+"@shop.example>", "250")
		client.say("RCPT TO:<a@customers.example>", "250")
		client.say("DATA", "354")
		if _, err := client.conn.Write(append(letter{intent, charge(intent)}.text(time.Now()), ".\r\n"...)); err != nil {
			t.Fatal(err)
		}
		said, _ := client.in.ReadString('\n') // nothing is an answer here, too
		if !strings.HasPrefix(said, c.said) || (c.said == "") != (said == "") || a.Counts()[intent].Captures != c.count {
			t.Errorf("%s: said %q, counted %+v", c.fault, said, a.Counts()[intent])
		}
	}
}

// A client that gives up while the server holds its answer knows nothing, and the e-mail has gone out.
func TestAContextThatEndsAtTheEndOfData(t *testing.T) {
	a := New(Options{})
	g := a.Hold()
	m := mailer(t, a)
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		<-g.Arrivals()
		giveUp()
	}()
	_, err := m.For("i").Capture(ctx, charge("k"))
	if !errors.Is(err, scenarios.ErrOutcomeUnknown) || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("%v", err)
	}
	if c := a.Counts()["i"]; c.Captures != 1 {
		t.Errorf("%+v", c)
	}
	g.Open()
	if len(m.idle) != 0 {
		t.Error("a connection with an answer still to come was kept for the next message")
	}
}

// script is a mail server that answers each connection's commands as told, and then hangs up. It counts what arrives.
func script(t *testing.T, replies ...[]string) (url string, messages func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	whole := 0
	served := make(chan struct{})
	go func() {
		defer close(served)
		for _, lines := range replies {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for _, reply := range lines {
				_, _ = io.WriteString(conn, reply+"\r\n")
				line, err := in.ReadString('\n')
				for strings.HasPrefix(reply, "354") && err == nil {
					if line == ".\r\n" {
						mu.Lock()
						whole++
						mu.Unlock()
						break
					}
					line, err = in.ReadString('\n')
				}
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	return "smtp://" + l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return whole
	}
}

// Any server's word is taken for what SMTP makes of it: a 250 at the end is an acceptance, a 550 on the recipient or the message a
// refusal, and everything else leaves the client in the dark. It sends nothing again.
func TestWhatOtherServersSay(t *testing.T) {
	upTo := func(last ...string) []string {
		return append([]string{"220 hello", "250 hello", "250 ok"}, last...)
	}
	for _, c := range []struct {
		says     []string
		want     scenarios.Receipt
		messages int
	}{
		{upTo("250 ok", "354 go", "250 2.0.0 Ok: queued as 4F00B"), scenarios.Receipt{ID: "4F00B", Approved: true}, 1},
		{upTo("250 ok", "354 go", "250 thank you"), scenarios.Receipt{ID: "thank you", Approved: true}, 1},
		{upTo("250 ok", "354 go", "550 5.7.1 no"), scenarios.Receipt{ID: "no"}, 1},
		{upTo("550 5.1.1 nobody here"), scenarios.Receipt{ID: "nobody here"}, 0},
		{upTo("450 4.2.1 busy"), scenarios.Receipt{}, 0},
		{upTo("250 ok", "354 go", "451 later"), scenarios.Receipt{}, 1},
		{upTo("250 ok", "354 go", "554 what"), scenarios.Receipt{}, 1},
		{upTo("250 ok", "354 go"), scenarios.Receipt{}, 1}, // the 250 is lost
		{upTo("250 ok"), scenarios.Receipt{}, 0},
		{[]string{"220 hello", "250 hello", "550 who are you"}, scenarios.Receipt{}, 0},
		{[]string{"554 go away"}, scenarios.Receipt{}, 0},
		{nil, scenarios.Receipt{}, 0},
	} {
		url, messages := script(t, c.says)
		m, err := DialSMTP(url, 1)
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.For("i").Capture(t.Context(), charge("k"))
		if unknown := errors.Is(err, scenarios.ErrOutcomeUnknown); r != c.want || unknown != (c.want == scenarios.Receipt{}) || messages() != c.messages {
			t.Errorf("%q: told %+v, %v; %d messages arrived", c.says, r, err, messages())
		}
		if kept := len(m.idle) == 1; kept != r.Approved {
			t.Errorf("%q: kept for the next message: %v", c.says, kept)
		}
		m.Close()
	}
}

// A connection that the server has closed meanwhile costs a new one, and no message. One that breaks under a message is not replaced.
func TestAnIdleConnectionIsAskedFirst(t *testing.T) {
	whole := []string{"220 hello", "250 hello", "250 ok", "250 ok", "354 go", "250 queued as 1"}
	url, messages := script(t, whole, whole, append(whole[:len(whole):len(whole)], "250 still here", "250 ok", "250 ok", "354 go"))
	m, err := DialSMTP(url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, want := range []bool{true, true, true, false} {
		r, err := m.For("i").Capture(t.Context(), charge("k"))
		if (err == nil) != want || r.Approved != want || messages() != i+1 {
			t.Errorf("message %d: %v, %v; %d arrived", i+1, r, err, messages())
		}
	}
}

// stop cuts off whatever is under way, also a capture that is held, and nothing is counted afterwards.
func TestStoppingTheMailServer(t *testing.T) {
	a := New(Options{})
	g := a.Hold()
	url, stop, err := a.ListenSMTP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := DialSMTP(url, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	idle := dialTelnet(t, url)
	ended := make(chan error, 1)
	go func() {
		_, err := m.For("i").Capture(t.Context(), charge("k"))
		ended <- err
	}()
	<-g.Arrivals()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, scenarios.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	if _, err := idle.in.ReadString('\n'); err == nil {
		t.Error("an idle client was left connected")
	}
	if err := m.Greet(t.Context()); err == nil {
		t.Error("it still answers")
	}
	if err := stop(); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

// The scheme says which door it is.
func TestAtTakesTheDoorThatTheURLNames(t *testing.T) {
	a := New(Options{})
	base, stop, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for n, url := range []string{base, catch(t, a)} {
		e, err := At(url, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Greet(t.Context()); err != nil {
			t.Error(err)
		}
		if r, err := e.For("i").Capture(t.Context(), charge("k")); err != nil || !r.Approved || a.Counts()["i"].Captures != n+1 {
			t.Errorf("%s: %v, %v, %+v", url, r, err, a.Counts())
		}
		e.Close()
	}
	for _, wrong := range []string{"", "127.0.0.1:25", "ftp://127.0.0.1", "http://", "smtp://", "smtp://127.0.0.1/queue", "smtp://%zz"} {
		if e, err := At(wrong, 1); err == nil || !strings.Contains(err.Error(), "say ") {
			t.Errorf("%q: %v, %v", wrong, e, err)
		}
	}
}
