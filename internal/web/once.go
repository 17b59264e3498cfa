package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// OnceClient is a client that never sends a request again by itself, and keeps up to conns connections ready: attempts that queue
// for one would not arrive together. Its requests must come from Once.
//
// It goes through no proxy and follows no redirect: either would be somebody else who sends.
func OnceClient(conns int) *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: conns},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Once makes a request that net/http sends at most once.
//
// Left to itself, its client sends a request again, silently, where a reused connection breaks before the first byte of the answer:
// not only a GET, but whatever carries an Idempotency-Key header and has a body that can be had once more, or none at all
// (Request.isReplayable in net/http/request.go). The acquirer, or the service, would then be told twice for one attempt, and
// nobody would know. Here the body is there, even where it is empty, and there is no way to have it again.
func Once(ctx context.Context, method, url string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, readOnce{bytes.NewReader(body)})
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	req.ContentLength = int64(len(body))
	return req, nil
}

// readOnce hides from net/http the kinds of reader that it knows how to rewind.
type readOnce struct{ io.Reader }
