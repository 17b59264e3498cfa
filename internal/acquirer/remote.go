package acquirer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"idemlab/internal/web"
	"idemlab/scenarios"
)

// Remote is an acquirer in another process: several instances of a service share one, as they do in life.
type Remote struct {
	base   string
	client *http.Client
}

// Dial prepares a client for the acquirer at a URL. It keeps up to conns connections ready, because attempts that queue for one
// would not reach the acquirer together. Nothing is sent twice behind anybody's back: a lost connection is an unknown outcome.
func Dial(base string, conns int) *Remote {
	return &Remote{strings.TrimSuffix(base, "/"), web.OnceClient(conns)}
}

// Close drops the idle connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// For binds the acquirer to an intent.
func (r *Remote) For(intent string) scenarios.Acquirer { return remoteBound{r, intent} }

// Ledger asks for every entry, in order of arrival.
func (r *Remote) Ledger(ctx context.Context) ([]Entry, error) {
	var reply ledgerReply
	if err := r.do(ctx, http.MethodGet, "/ledger", nil, &reply); err != nil {
		return nil, fmt.Errorf("ask the acquirer for its ledger: %w", err)
	}
	var entries []Entry
	for _, e := range reply.Entries {
		entries = append(entries, e.entry())
	}
	return entries, nil
}

// SetFaults puts these rules in the place of all earlier ones.
func (r *Remote) SetFaults(ctx context.Context, rules []Rule) error {
	if err := r.do(ctx, http.MethodPut, "/faults", rulesJSON{Rules: rules}, nil); err != nil {
		return fmt.Errorf("set the acquirer's faults: %w", err)
	}
	return nil
}

// Rules asks for the rules in force and how often each has struck.
func (r *Remote) Rules(ctx context.Context) (rules []Rule, struck []int, err error) {
	var reply rulesJSON
	if err := r.do(ctx, http.MethodGet, "/faults", nil, &reply); err != nil {
		return nil, nil, fmt.Errorf("ask the acquirer for its faults: %w", err)
	}
	return reply.Rules, reply.Struck, nil
}

type remoteBound struct {
	r      *Remote
	intent string
}

func (b remoteBound) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	var receipt receiptJSON
	err := b.r.do(ctx, http.MethodPost, "/captures", captureRequest{b.intent, c.Key, c.OrderID, c.AmountCents, instalment(c.Installment), c.Tenant}, &receipt)
	if err == nil && receipt.Receipt == "" {
		err = errors.New("what answered gave no receipt") // no acquirer: its "not approved" would be nobody's word
	}
	if err != nil {
		return scenarios.Receipt{}, fmt.Errorf("%w: %v", scenarios.ErrOutcomeUnknown, err)
	}
	return scenarios.Receipt{ID: receipt.Receipt, Approved: receipt.Approved}, nil
}

func (b remoteBound) Find(ctx context.Context, key string) (scenarios.Receipt, bool, error) {
	var reply findReply
	if err := b.r.do(ctx, http.MethodGet, "/receipts?key="+url.QueryEscape(key), nil, &reply); err != nil {
		// Not wrapped: to whoever runs the strategy a broken connection would look like PostgreSQL's.
		return scenarios.Receipt{}, false, fmt.Errorf("ask acquirer for %q: %v", b.intent, err)
	}
	if !reply.Found || reply.Approved == nil {
		return scenarios.Receipt{}, false, nil
	}
	return scenarios.Receipt{ID: reply.Receipt, Approved: *reply.Approved}, true, nil
}

// do sends one request, and what has a body once, and reads the answer into what is given.
func (r *Remote) do(ctx context.Context, method, path string, body, into any) error {
	req, err := request(ctx, method, r.base+path, body)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // a courtesy: the status is the news
		return fmt.Errorf("acquirer answered %s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

func request(ctx context.Context, method, target string, body any) (*http.Request, error) {
	if body == nil {
		return http.NewRequestWithContext(ctx, method, target, http.NoBody)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	req, err := web.Once(ctx, method, target, text)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}
