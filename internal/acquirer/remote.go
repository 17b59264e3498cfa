package acquirer

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"idemlab/scenarios"
)

// Several instances share one acquirer, as they do in life: it listens on loopback, and each process dials it. A TCP port
// leaves nothing in the file system however the run ends; the token in the path keeps other users of the machine out.

// captureRequest is the body of POST /captures.
type captureRequest struct {
	Intent string           `json:"intent"`
	Charge scenarios.Charge `json:"charge"`
}

// findReply is the body of GET /receipts.
type findReply struct {
	Receipt scenarios.Receipt `json:"receipt"`
	Found   bool              `json:"found"`
}

// Listen serves the acquirer on loopback until stop is called, and returns the URL to hand to Dial.
func (a *Acquirer) Listen(ctx context.Context) (base string, stop func() error, err error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the instances: %w", err)
	}
	token := rand.Text()
	srv := &http.Server{Handler: http.StripPrefix("/"+token, a.handler()), ReadHeaderTimeout: 10 * time.Second}
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

// handler answers POST /captures and GET /receipts?key=.
func (a *Acquirer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /captures", func(w http.ResponseWriter, r *http.Request) {
		var req captureRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		receipt, err := a.capture(r.Context(), req.Intent, req.Charge)
		if err != nil {
			http.Error(w, err.Error(), http.StatusGatewayTimeout)
			return
		}
		writeJSON(w, receipt)
	})
	mux.HandleFunc("GET /receipts", func(w http.ResponseWriter, r *http.Request) {
		receipt, ok := a.find(r.URL.Query().Get("key"))
		writeJSON(w, findReply{receipt, ok})
	})
	return mux
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone learns nothing from an error here
}

// Remote is an acquirer in another process.
type Remote struct {
	base   string
	client *http.Client
}

// Dial prepares a client for the acquirer at a URL that Listen gave. It keeps up to conns connections ready, because attempts
// that queue for one would not reach the acquirer together.
//
// Go's client sends a POST again by itself only where it carries an Idempotency-Key header or its body can be rewound; here
// neither is so, and a lost connection is an unknown outcome.
func Dial(base string, conns int) *Remote {
	return &Remote{base, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}}
}

// Close drops the idle connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// For binds the acquirer to an intent.
func (r *Remote) For(intent string) scenarios.Acquirer { return remoteBound{r, intent} }

type remoteBound struct {
	r      *Remote
	intent string
}

func (b remoteBound) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	body, err := json.Marshal(captureRequest{b.intent, c})
	if err != nil {
		return scenarios.Receipt{}, fmt.Errorf("encode capture: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.r.base+"/captures", bytes.NewReader(body))
	if err != nil {
		return scenarios.Receipt{}, fmt.Errorf("capture: %w", err)
	}
	req.GetBody = nil // never sent twice by the client behind our back
	var receipt scenarios.Receipt
	if err := b.r.do(req, &receipt); err != nil {
		return scenarios.Receipt{}, fmt.Errorf("%w: %v", scenarios.ErrOutcomeUnknown, err)
	}
	return receipt, nil
}

func (b remoteBound) Find(ctx context.Context, key string) (scenarios.Receipt, bool, error) {
	target := b.r.base + "/receipts?key=" + url.QueryEscape(key)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return scenarios.Receipt{}, false, fmt.Errorf("find: %w", err)
	}
	var reply findReply
	if err := b.r.do(req, &reply); err != nil {
		return scenarios.Receipt{}, false, fmt.Errorf("ask acquirer for %q: %w", b.intent, err)
	}
	return reply.Receipt, reply.Found, nil
}

func (r *Remote) do(req *http.Request, into any) error {
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("acquirer answered %s", resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
