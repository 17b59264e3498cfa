package service

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// problem is an answer of the kind application/problem+json (RFC 9457). The titles of the three that the draft names are the
// draft's own.
type problem struct {
	Type     string `json:"type"` // made from kind
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	SQLState string `json:"sqlstate,omitempty"` // PostgreSQL's, where an error of it reached the client

	kind       string
	retryAfter time.Duration // 0: nothing is said
	allow      string
}

// problemType is the start of every problem's type: a name, and no place to look it up.
const problemType = "urn:idemlab:problem:"

func (p problem) write(w http.ResponseWriter) {
	p.Type = problemType + p.kind
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds())))) // in whole seconds (RFC 9110, section 10.2.3)
	}
	if p.allow != "" {
		h.Set("Allow", p.allow)
	}
	w.WriteHeader(p.Status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // a client that has gone learns nothing from an error here
}

// failure is an attempt that ended in an error, by whose fault it was. Only the last is the strategy's own.
func failure(rec instance.Record, w scenarios.Words, retryAfter time.Duration) problem {
	switch {
	case rec.OutcomeUnknown:
		return problem{kind: "outcome-unknown", Status: http.StatusBadGateway, Title: "The " + w.Far + "'s answer did not come",
			Detail: w.Perhaps + ", or not: send the request again with the same key, never with a new one (" + rec.Err + ")"}
	case rec.LostServer:
		return unavailable(rec.Err, retryAfter)
	case rec.GivenUp:
		return problem{kind: "given-up", Status: http.StatusGatewayTimeout, Title: "The request took too long",
			Detail: "send it again with the same key (" + rec.Err + ")", retryAfter: retryAfter}
	}
	return problem{kind: "failed", Status: http.StatusInternalServerError, Title: "The request failed", Detail: rec.Err, SQLState: rec.SQLState}
}

// unavailable says that the database is in trouble, which is no answer of the strategy's.
func unavailable(why string, retryAfter time.Duration) problem {
	return problem{kind: "unavailable", Status: http.StatusServiceUnavailable, Title: "The database does not answer",
		Detail: "send the request again with the same key (" + why + ")", retryAfter: retryAfter}
}
