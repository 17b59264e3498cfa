package acquirer

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"idemlab/scenarios"
)

// mostBody is far more than a capture or a list of rules takes.
const mostBody = 64 << 10

// Listen serves the acquirer on loopback until stop is called, and returns the URL to hand to Dial. A TCP port leaves nothing in
// the file system however the run ends; the token in the path keeps other users of the machine out of a run that is not theirs.
func (a *Acquirer) Listen(ctx context.Context) (base string, stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the instances: %w", err)
	}
	token := rand.Text()
	srv := &http.Server{Handler: http.StripPrefix("/"+token, a.Handler()), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l) // ends with ErrServerClosed when stop is called
	}()
	return fmt.Sprintf("http://%s/%s", l.Addr(), token), func() error {
		err := srv.Close()
		<-served
		return err
	}, nil
}

// Handler is the acquirer as a service of its own:
//
//	POST   /captures        make a capture: {"key": …, "order_id": …, "amount_cents": …, "intent": …}; "installment" counts from 1
//	GET    /receipts?key=…  what became of a key
//	GET    /ledger          every entry, and the sums
//	GET    /faults          the rules in force, and how often each has struck
//	PUT    /faults          {"rules": […]} in the place of all earlier ones
//	DELETE /faults          none from now on
func (a *Acquirer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /captures", a.serveCapture)
	mux.HandleFunc("GET /receipts", func(w http.ResponseWriter, r *http.Request) {
		receipt, ok := a.find(r.URL.Query().Get("key"))
		reply := findReply{Found: ok}
		if ok {
			reply.Receipt, reply.Approved = receipt.ID, &receipt.Approved
		}
		writeJSON(w, reply)
	})
	mux.HandleFunc("GET /ledger", a.ServeLedger)
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) {
		rules, struck := a.Rules()
		writeJSON(w, rulesJSON{append([]Rule{}, rules...), struck})
	})
	mux.HandleFunc("PUT /faults", func(w http.ResponseWriter, r *http.Request) {
		var body rulesJSON
		if !readJSON(w, r, &body) {
			return
		}
		if err := a.SetFaults(body.Rules); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("DELETE /faults", func(w http.ResponseWriter, _ *http.Request) {
		_ = a.SetFaults(nil) // no rule, none that could be wrong
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

// ServeLedger answers GET /ledger.
func (a *Acquirer) ServeLedger(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, replyOf(a.Ledger()))
}

func (a *Acquirer) serveCapture(w http.ResponseWriter, r *http.Request) {
	var req captureRequest
	if !readJSON(w, r, &req) {
		return
	}
	if req.Key == "" {
		http.Error(w, "a capture has a key: it is what the acquirer can be asked about afterwards", http.StatusBadRequest)
		return
	}
	if req.Intent == "" {
		req.Intent = req.Key
	}
	receipt, err := a.capture(r.Context(), req.Intent, scenarios.Charge{Key: req.Key, OrderID: req.OrderID, AmountCents: req.AmountCents, Installment: int(req.Installment), Tenant: req.Tenant})
	switch {
	case err == nil:
		writeJSON(w, receiptJSON{receipt.ID, receipt.Approved})
	case errors.Is(err, errNoAnswer):
		panic(http.ErrAbortHandler) // net/http's way to close the connection without an answer
	case r.Context().Err() != nil:
		http.Error(w, err.Error(), http.StatusGatewayTimeout) // whoever asked has gone
	default:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// readJSON reads the body, or says why not and returns false.
func readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err == nil {
		err = strict(text, v)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func writeJSON(w http.ResponseWriter, v any) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text.Bytes()) // a client that has gone learns nothing from an error here
}
