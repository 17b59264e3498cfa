// Package web is HTTP as the lab's own processes need it: an address that a script can read, a server that lets the requests in
// flight come to their end, and a client that sends each request once.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// CheckAddress says what is wrong with an address to listen on, before anything is started.
func CheckAddress(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is no address: say host:port, such as 127.0.0.1:8080, or 127.0.0.1:0 for any free port", addr)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q is no address: %q is no port from 0 to 65535", addr, port)
	}
	if host != "" && host != "localhost" && net.ParseIP(host) == nil {
		return fmt.Errorf("%q is no address of this machine: say its IP, or leave the host out for all of them", addr)
	}
	return nil
}

// Listen takes an address. A command does so first, before it starts anything that would have to be undone where the address
// is not to be had.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: the port is in use; take another one (--listen 127.0.0.1:0 takes any that is free), "+
			"or end what listens there: %w", addr, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("cannot listen on %s: the system does not allow it; take a port above 1023, such as --listen 127.0.0.1:8080: %w", addr, err)
	}
	return nil, fmt.Errorf("cannot listen on %s: take another address, such as --listen 127.0.0.1:0: %w", addr, err)
}

// URL is where a client of this machine finds the listener, with the port that it really has.
func URL(l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() { // listens on all addresses: nobody can connect to "all"
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// Open says whether others than this machine can reach the listener.
func Open(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && !a.IP.IsLoopback()
}
