package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"idemlab/internal/web"
	"idemlab/scenarios"
)

// Client posts charges. It sends each of them once: what is to be sent again is its caller's to decide, and to count.
type Client struct {
	base   string
	client *http.Client
}

// Dial prepares a client for the service at a URL. It keeps up to conns connections ready, so that attempts need not queue for one.
func Dial(base string, conns int) *Client {
	return &Client{strings.TrimSuffix(base, "/"), web.OnceClient(conns)}
}

// Close drops the idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Reply is what a client was told.
type Reply struct {
	Status     int
	Replayed   bool
	RetryAfter time.Duration // 0 where nothing was said
	Kind       string        // of a problem, such as outstanding; empty where it is none
	SQLState   string        // PostgreSQL's, of a problem
	Body       string
}

// Answer is the reply in the lab's words. Whatever is none of the contract's answers has failed.
func (r Reply) Answer() scenarios.Answer {
	final := r.Kind == "" && (r.Status == http.StatusCreated || r.Status == http.StatusPaymentRequired)
	switch {
	case final && r.Replayed:
		return scenarios.Replayed
	case final && r.Status == http.StatusCreated:
		return scenarios.Charged
	case final:
		return scenarios.Declined
	case r.Status == http.StatusConflict:
		return scenarios.InProgress
	case r.Status == http.StatusUnprocessableEntity:
		return scenarios.Mismatched
	}
	return scenarios.Failed
}

// Charge posts one request for an intent. An error says that no reply came, or not all of it: what became of the charge is unknown.
func (c *Client) Charge(ctx context.Context, intent string, req scenarios.Request) (Reply, error) {
	body := fmt.Sprintf(`{"pedido_id": %d, "valor_centavos": %d}`, req.OrderID, req.AmountCents)
	if req.Installment > 0 {
		body = fmt.Sprintf(`{"pedido_id": %d, "valor_centavos": %d, "parcela": %d}`, req.OrderID, req.AmountCents, req.Installment+1)
	}
	r, err := web.Once(ctx, http.MethodPost, c.base+Path, []byte(body))
	if err != nil {
		return Reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(KeyHeader, quoteKey(req.Key))
	r.Header.Set(IntentHeader, intent)
	resp, err := c.client.Do(r)
	if err != nil {
		return Reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return Reply{}, fmt.Errorf("read the reply: %w", err)
	}
	reply := Reply{Status: resp.StatusCode, Replayed: resp.Header.Get(ReplayedHeader) == "true", Body: string(text)}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		reply.RetryAfter = time.Duration(seconds) * time.Second
	}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		var p problem
		if err := json.Unmarshal(text, &p); err != nil {
			return Reply{}, fmt.Errorf("read the problem: %w", err)
		}
		reply.Kind, reply.SQLState = strings.TrimPrefix(p.Type, problemType), p.SQLState
	}
	return reply, nil
}
