package server

import "time"

// supervisorArg is the one argument that makes the program its own supervisor.
const supervisorArg = "__idemlab-supervise"

// Limits of the supervisor. Each wait has one: a start that hangs must become an error, and an end that hangs must not
// keep the tool. They are far above what was measured (1 to 2 s for a start, 8 s on a busy machine).
const (
	initdbLimit   = 120 * time.Second
	readyLimit    = 60 * time.Second
	stopLimit     = 10 * time.Second // PostgreSQL itself kills its children after 5 s of an immediate shutdown
	readyInterval = 4 * time.Millisecond
)

// order is what the tool asks of the supervisor: the first line on its stdin, as JSON. The pipe then stays open, and
// says nothing more: its end is the message. One of Start and Fetch is set.
type order struct {
	Start *startOrder `json:",omitempty"`
	Fetch *fetchOrder `json:",omitempty"`
}

// startOrder asks for a server.
type startOrder struct {
	Bin     string   // folder with initdb and postgres
	Tmp     []string // folders to try for the server's own folder, best first
	Conf    string   // lines for postgresql.conf
	OSUser  string   // the one account that may connect
	Account *account // whom initdb and postgres run as; nil: as the tool
	Path    string   // PATH for them
}

// fetchOrder asks for PostgreSQL's binaries.
type fetchOrder struct {
	Version string // as the archive's name has it: "18.3.0"
	Repo    string // base URL
	Into    string // a folder of the caller's, in which the supervisor makes everything, and nothing is made elsewhere
}

// event is what the supervisor reports: one JSON object per line on its stderr. Lines that are no JSON are a crash's
// last words and are shown as they are.
type event struct {
	Kind     string // one of the kinds below
	Text     string `json:",omitempty"` // for people
	Dir      string `json:",omitempty"` // evReady: the server's folder
	OnMemory bool   `json:",omitempty"` // evReady: that folder is on tmpfs
	Usage    bool   `json:",omitempty"` // evFailed: because of a setting that the user asked for
}

const (
	evNote   = "note"
	evReady  = "ready"
	evDone   = "done" // of a fetch
	evFailed = "failed"
)

// account is an operating system account.
type account struct {
	Name     string
	UID, GID uint32
}

// socketPort names the socket file; nothing listens on a network.
const socketPort = 5432
