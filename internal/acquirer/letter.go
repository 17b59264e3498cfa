package acquirer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"idemlab/scenarios"
)

// letter is the e-mail that tells a customer of one charge, and what the ledger wants to know of it.
type letter struct {
	intent string
	charge scenarios.Charge
}

// The addresses: nobody lives at a domain that is reserved for examples (RFC 2606, section 2).
const (
	shopDomain     = "shop.example"
	customerDomain = "customers.example"
)

// labHeader is the one header that is the lab's own. Its value is an URL's query, which is ASCII whatever a key is made of, and has no
// spaces, so that it can be folded anywhere.
const labHeader = "X-Idemlab"

// to is the customer's address: an order has one.
func (l letter) to() string {
	return fmt.Sprintf("order-%d@%s", l.charge.OrderID, customerDomain)
}

// messageID is the key in the form in which a Message-ID may stand (RFC 5322, section 3.6.4). Whoever sends the same key again sends the
// same Message-ID: it is all by which a mail server could know a repeat, and no standard says that it must.
func messageID(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "<" + hex.EncodeToString(sum[:16]) + "@" + shopDomain + ">"
}

// text is the message as it is sent, with the line ends of the protocol.
func (l letter) text(now time.Time) []byte {
	c := l.charge
	what := fmt.Sprintf("order %d", c.OrderID)
	if c.Installment > 0 {
		what += fmt.Sprintf(", instalment %d", c.Installment+1)
	}
	ours := url.Values{
		"intent": {l.intent}, "key": {c.Key}, "order_id": {strconv.FormatInt(c.OrderID, 10)},
		"amount_cents": {strconv.FormatInt(c.AmountCents, 10)}, "installment": {strconv.Itoa(c.Installment + 1)},
		"tenant": {strconv.FormatInt(c.Tenant, 10)},
	}
	var b bytes.Buffer
	for _, line := range []string{
		"Date: " + now.Format(time.RFC1123Z),
		"From: The shop <shop@" + shopDomain + ">",
		"To: " + l.to(),
		"Subject: Your payment for " + what,
		"Message-ID: " + messageID(c.Key),
		labHeader + ": " + strings.Join(pieces(ours.Encode()), "\r\n "),
		"MIME-Version: 1.0",
		"Content-Type: text/plain; charset=us-ascii",
		"",
		"Hello,",
		"",
		fmt.Sprintf("we have received your payment of R$ %d.%02d for %s. Thank you.", c.AmountCents/100, c.AmountCents%100, what),
	} {
		b.WriteString(line + "\r\n")
	}
	return b.Bytes()
}

// pieces cuts a value so that no line comes near the 998 characters that one may have (RFC 5322, section 2.1.1).
func pieces(value string) (list []string) {
	const most = 60
	for len(value) > most {
		list, value = append(list, value[:most]), value[most:]
	}
	return append(list, value)
}

// readLetter reads a message that text wrote. An error says what is wrong with one that it did not.
func readLetter(text []byte) (l letter, err error) {
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return l, fmt.Errorf("no message: %w", err)
	}
	value := m.Header.Get(labHeader)
	if value == "" {
		return l, fmt.Errorf("no header %s: this server counts what the lab sends, and delivers nothing", labHeader)
	}
	v, err := url.ParseQuery(strings.ReplaceAll(value, " ", "")) // the folds
	if err != nil {
		return l, fmt.Errorf("header %s: %w", labHeader, err)
	}
	l.intent, l.charge.Key = v.Get("intent"), v.Get("key")
	if l.charge.Key == "" || m.Header.Get("Message-ID") != messageID(l.charge.Key) {
		return l, fmt.Errorf("header %s: the Message-ID is not made of its key", labHeader)
	}
	if l.charge.OrderID, err = strconv.ParseInt(v.Get("order_id"), 10, 64); err != nil {
		return l, fmt.Errorf("header %s: order_id: %w", labHeader, err)
	}
	if l.charge.AmountCents, err = strconv.ParseInt(v.Get("amount_cents"), 10, 64); err != nil {
		return l, fmt.Errorf("header %s: amount_cents: %w", labHeader, err)
	}
	if l.charge.Installment, err = strconv.Atoi(v.Get("installment")); err != nil {
		return l, fmt.Errorf("header %s: installment: %w", labHeader, err)
	}
	if l.charge.Installment--; l.charge.Installment < 0 { // they count from 1 there
		return l, fmt.Errorf("header %s: installment: the first is 1", labHeader)
	}
	if l.charge.Tenant, err = strconv.ParseInt(v.Get("tenant"), 10, 64); err != nil {
		return l, fmt.Errorf("header %s: tenant: %w", labHeader, err)
	}
	if l.intent == "" {
		l.intent = l.charge.Key
	}
	return l, nil
}
