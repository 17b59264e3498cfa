package race

import (
	"encoding/json"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/instance"
)

// The race and an instance in a process of its own talk in JSON values over the child's stdin and stdout.

// setup is the first value that a child reads. It travels over the pipe and not as an argument, because a DSN may hold a password.
type setup struct {
	DSN        string
	SearchPath string
	AppName    string
	Pool       int
	Isolation  pgx.TxIsoLevel
	Strategy   string
	Seed       uint64
	Lease      time.Duration
	Acquirer   string // base URL
	Timeout    time.Duration
}

// order is every further value: exactly one of the fields is set.
type order struct {
	WarmUp bool   `json:",omitempty"`
	Arm    *salvo `json:",omitempty"`
	Fire   bool   `json:",omitempty"`
}

// reply answers each order: Fire with the records, the others with nothing but the absence of an error.
type reply struct {
	Error   string            `json:",omitempty"`
	Records []instance.Record `json:",omitempty"`
}

// line is one end of the conversation.
type line struct {
	enc *json.Encoder
	dec *json.Decoder
}

func newLine(r io.Reader, w io.Writer) line { return line{json.NewEncoder(w), json.NewDecoder(r)} }
