package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"idemlab/scenarios"
)

// mostBody is far more than two numbers take.
const mostBody = 16 << 10

// read takes a request apart, or says what is wrong with it. Nothing that is refused here is stored under the key: it may be
// put right and sent again.
func (s *Service) read(w http.ResponseWriter, r *http.Request) (req scenarios.Request, intent string, refused *problem) {
	if r.Method != http.MethodPost {
		return req, "", &problem{kind: "method", Status: http.StatusMethodNotAllowed, Title: "Only POST is answered here",
			Detail: "a charge is made with POST " + Path, allow: http.MethodPost}
	}
	if refused := readContentType(r.Header.Get("Content-Type")); refused != nil {
		return req, "", refused
	}
	if req.Key, refused = readKey(r.Header.Values(KeyHeader), s.c.Syntax); refused != nil {
		return req, "", refused
	}
	if intent, refused = readIntent(r.Header.Get(IntentHeader), req.Key); refused != nil {
		return req, "", refused
	}
	b, refused := readBody(http.MaxBytesReader(w, r.Body, mostBody))
	req.OrderID, req.AmountCents = b.orderID, b.amountCents
	if b.installment > 0 {
		req.Installment = int(b.installment - 1) // who says nothing means the first, and so does who says 1
	}
	return req, intent, refused
}

func readContentType(value string) *problem {
	kind, params, err := mime.ParseMediaType(value)
	if charset, ok := params["charset"]; err == nil && kind == "application/json" && (!ok || strings.EqualFold(charset, "utf-8")) {
		return nil
	}
	return &problem{kind: "media-type", Status: http.StatusUnsupportedMediaType, Title: "Only JSON is understood here",
		Detail: fmt.Sprintf("the Content-Type is %q: send application/json", value)}
}

// readIntent takes the key where nothing better is known; see IntentHeader.
func readIntent(value, key string) (string, *problem) {
	if value == "" {
		return key, nil
	}
	if len(value) > mostKey {
		return "", invalid(fmt.Sprintf("%s has %d characters, and %d is the most", IntentHeader, len(value), mostKey))
	}
	return value, nil
}

// invalid refuses a request that is no charge.
func invalid(detail string) *problem {
	return &problem{kind: "request-invalid", Status: http.StatusBadRequest, Title: "The request is not valid", Detail: detail}
}

// shape is what a body should look like.
const shape = `send {"pedido_id": 123, "valor_centavos": 25000}`

// mostCents is ten billion reais: more than anybody pays at once, and little enough for sums of a million such charges.
const mostCents = 1_000_000_000_000

// charge is a body. An instalment of 0 was not named.
type charge struct{ orderID, amountCents, installment int64 }

// readBody reads the numbers of a charge. It goes through the text by hand, because encoding/json lets pass what must not pass
// where money is concerned: a name twice (the last one wins), and a name in other capitals.
func readBody(r io.Reader) (b charge, refused *problem) {
	fields := map[string]*int64{"pedido_id": &b.orderID, "valor_centavos": &b.amountCents, "parcela": &b.installment}
	most := map[string]int64{"pedido_id": math.MaxInt64, "valor_centavos": mostCents, "parcela": math.MaxInt32}
	seen := map[string]bool{}
	err := readObject(r, func(name string, value json.Token) error {
		into, known := fields[name]
		switch {
		case !known:
			return fmt.Errorf("there is no field %q: %s", name, shape)
		case seen[name]:
			return fmt.Errorf("%s stands there twice", name)
		}
		seen[name] = true
		number, ok := value.(json.Number)
		if !ok {
			return fmt.Errorf("%s must be a whole number, without quotes", name)
		}
		n, err := strconv.ParseInt(number.String(), 10, 64)
		if err != nil || n < 1 || n > most[name] {
			return fmt.Errorf("%s is %s: it must be a whole number from 1 to %d", name, number, most[name])
		}
		*into = n
		return nil
	})
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return charge{}, &problem{kind: "too-large", Status: http.StatusRequestEntityTooLarge, Title: "The request is too large",
			Detail: fmt.Sprintf("the body has more than %d bytes: %s", long.Limit, shape)}
	case err != nil:
		return charge{}, invalid(err.Error())
	}
	for _, name := range []string{"pedido_id", "valor_centavos"} {
		if !seen[name] {
			return charge{}, invalid(fmt.Sprintf("%s is missing: %s", name, shape))
		}
	}
	return b, nil
}

// readObject hands each field of one JSON object to f: its name and the first token of its value. There must be nothing behind it.
func readObject(r io.Reader, f func(name string, value json.Token) error) error {
	dec := json.NewDecoder(r)
	dec.UseNumber() // 25000 is no float
	if t, err := dec.Token(); err != nil {
		return malformed(err)
	} else if t != json.Delim('{') {
		return errors.New("the body must be a JSON object: " + shape)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return malformed(err)
		}
		value, err := dec.Token()
		if err != nil {
			return malformed(err)
		}
		text, ok := name.(string)
		if !ok {
			return errors.New("the body must be a JSON object: " + shape)
		}
		if err := f(text, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return malformed(err)
	}
	if _, err := dec.Token(); err == nil {
		return errors.New("something stands behind the JSON object")
	} else if !errors.Is(err, io.EOF) {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the body ends too early to be JSON: " + shape)
	}
	return fmt.Errorf("the body could not be read as JSON: %w", err)
}
