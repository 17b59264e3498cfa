// Package server finds or starts the PostgreSQL that a run works on, and gives each run a schema of its own.
//
// # Which server
//
// The first of these that is given is taken, and one that fails is an error, never a reason to try the next:
// --dsn, IDEMLAB_DSN, DATABASE_URL, the PG* variables that name a place (PGHOST, PGHOSTADDR, PGPORT, PGSERVICE), and
// else a server of our own, made for the run from binaries on this machine (or downloaded) and thrown away afterwards.
//
// # Who dies after whom
//
// A server of our own must not outlive the tool, however the tool ends, and no handler runs on SIGKILL. So the
// tool starts itself a second time as a supervisor, in a session of its own where no Ctrl-C reaches it:
//
//	tool ──stdin pipe──▶ supervisor ──parent-death signal──▶ postgres
//
// The tool's death is end-of-file on the pipe: the supervisor stops postgres and removes the folder. The supervisor's
// death is a signal from the kernel to postgres (Linux). Whatever is killed, no process stays; at worst a folder
// does, and the next start removes it, because the lock on it went with the last process that used it.
//
// # A schema per run
//
// A run creates one schema, tagged by its comment and held by a session advisory lock whose key is in the schema's
// name. It is dropped at the end. A run that was killed lost its lock with its connection, so the next one can
// tell a leftover from a schema in use, and drops leftovers only.
//
// What a schema does not keep apart are advisory locks: runs that take them take turns (TakeTurn).
package server
