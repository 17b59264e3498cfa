package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dropsEverySecond is a server that answers a connection's first request and hangs up on its second, as one does that is
// killed with the request in its hands. It counts the requests that arrive.
func dropsEverySecond(t *testing.T) (url string, arrived *atomic.Int64) {
	arrived = &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if arrived.Add(1) == 2 {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
			return
		}
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(srv.Close)
	return srv.URL, arrived
}

// twice sends two requests one after the other and returns how many arrived, and the second one's error.
func twice(t *testing.T, c *http.Client, request func(url string) *http.Request) (int64, error) {
	t.Helper()
	defer c.CloseIdleConnections()
	url, arrived := dropsEverySecond(t)
	var err error
	for range 2 {
		var resp *http.Response
		if resp, err = c.Do(request(url)); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // or the connection would not be used again
			resp.Body.Close()
		}
	}
	return arrived.Load(), err
}

// What Go's client does, and what ours does not: with the key on it, a POST whose reused connection breaks is sent once more, and
// nobody is told. The first half proves that the second one can fail.
func TestOnceIsSentOnce(t *testing.T) {
	for _, body := range []string{`{"pedido_id": 1}`, ""} {
		withKey := func(r *http.Request) *http.Request {
			r.Header.Set("Idempotency-Key", `"k"`)
			return r
		}
		n, err := twice(t, &http.Client{Transport: &http.Transport{}}, func(url string) *http.Request {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
			if err != nil {
				t.Fatal(err)
			}
			return withKey(r)
		})
		if n != 3 || err != nil {
			t.Errorf("body %q, Go's own client: %d arrived, %v; it used to send one of the two again", body, n, err)
		}
		n, err = twice(t, OnceClient(1), func(url string) *http.Request {
			r, err := Once(t.Context(), http.MethodPost, url, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return withKey(r)
		})
		if n != 2 || err == nil {
			t.Errorf("body %q, ours: %d arrived of 2, error %v", body, n, err)
		}
	}
}

func TestOnceFollowsNoRedirect(t *testing.T) {
	arrived := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived++
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer srv.Close()
	c := OnceClient(1)
	defer c.CloseIdleConnections()
	r, err := Once(t.Context(), http.MethodPost, srv.URL, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect || arrived != 1 {
		t.Fatalf("%v, %d arrived", err, arrived)
	}
	resp.Body.Close()
}

// slow is a server with one request in flight, which ends when it is let go or cut off.
type slow struct {
	url     string
	letGo   chan struct{}
	stop    context.CancelFunc
	ended   chan error
	waited  chan int64 // requests that the server waited for
	arrived chan struct{}
	told    chan int // the status that the client was told; 0 where it learned nothing
}

func startSlow(t *testing.T, grace time.Duration) *slow {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &slow{url: URL(l), letGo: make(chan struct{}), ended: make(chan error, 1), waited: make(chan int64, 1), arrived: make(chan struct{}, 1), told: make(chan int, 1)}
	cut := make(chan struct{})
	srv := Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.arrived <- struct{}{}
			select {
			case <-s.letGo:
				w.WriteHeader(http.StatusCreated)
			case <-cut:
			}
		}),
		Grace: grace, Cut: func() { close(cut) }, Draining: func(n int64) { s.waited <- n }, Log: io.Discard,
	}
	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	go func() { s.ended <- srv.Run(ctx, l) }()
	go func() {
		c := OnceClient(1)
		defer c.CloseIdleConnections()
		r, err := Once(context.Background(), http.MethodPost, s.url, []byte("{}"))
		if err != nil {
			t.Error(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			s.told <- 0
			return
		}
		resp.Body.Close()
		s.told <- resp.StatusCode
	}()
	<-s.arrived
	return s
}

// What is in flight when the server is told to stop is answered; whoever comes afterwards is not.
func TestStoppingLetsRequestsEnd(t *testing.T) {
	s := startSlow(t, time.Minute)
	s.stop()
	for { // the listener is closed soon after: wait for it, so that the answer below comes after the stop
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			break
		}
		conn.Close()
	}
	if n := <-s.waited; n != 1 {
		t.Errorf("told that %d requests are in flight", n)
	}
	select {
	case err := <-s.ended:
		t.Fatalf("ended with a request in flight: %v", err)
	default:
	}
	close(s.letGo)
	if told := <-s.told; told != http.StatusCreated {
		t.Errorf("the client was told %d", told)
	}
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestStoppingCutsOffWhatTakesTooLong(t *testing.T) {
	s := startSlow(t, time.Millisecond)
	s.stop()
	var cut *CutError
	if err := <-s.ended; !errors.As(err, &cut) || cut.Requests != 1 {
		t.Errorf("ended with %v", err)
	}
	<-s.told
}

func TestAPortInUseSaysWhatToType(t *testing.T) {
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := Listen(t.Context(), l.Addr().String()); err == nil || !strings.Contains(err.Error(), "--listen 127.0.0.1:0") {
		t.Errorf("%v", err)
	}
}

func TestAddresses(t *testing.T) {
	for addr, ok := range map[string]bool{
		"127.0.0.1:0": true, ":8080": true, "[::1]:0": true, "localhost:80": true, "0.0.0.0:65535": true,
		"": false, "8080": false, "127.0.0.1": false, "127.0.0.1:x": false, "127.0.0.1:65536": false, "127.0.0.1:-1": false,
		"http://127.0.0.1:80": false, "example.com:80": false,
	} {
		if err := CheckAddress(addr); (err == nil) != ok {
			t.Errorf("%q: %v", addr, err)
		}
	}
	l, err := Listen(t.Context(), ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if url := URL(l); !strings.HasPrefix(url, "http://127.0.0.1:") || !Open(l) {
		t.Errorf("%s, open %v", url, Open(l))
	}
}

// A client gets so long to send its request, and the handler as long as it likes: the limit must not look like a client that hangs up.
func TestTheLimitIsOnTheRequestAlone(t *testing.T) {
	const limit = 400 * time.Millisecond
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Server{Grace: time.Minute, Log: io.Discard, readLimit: limit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			read <- err
			if err != nil {
				return
			}
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusInternalServerError)
			case <-time.After(2 * limit): // nothing is to happen, and that has no event
				w.WriteHeader(http.StatusOK)
			}
		})}.Run(ctx, l)
	}()
	c := OnceClient(1)
	r, err := Once(t.Context(), http.MethodPost, URL(l), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	c.CloseIdleConnections()
	if err := <-read; err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("a slow handler: %d, body %v", resp.StatusCode, err)
	}

	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err == nil {
		t.Error("a body that does not come was waited for, and taken for whole")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
