package results

// Repeats is what one more repeat of a finished key costs, with nobody else there. Of a run that did not come to its end nothing was
// counted.
type Repeats struct {
	Settings  RepeatsSettings `json:"settings"`
	Counted   int             `json:"counted"`
	Replayed  int             `json:"replayed"` // of those: told the stored answer
	Client    *Latency        `json:"client,omitempty"`
	PerRepeat *PerRepeat      `json:"per_repeat,omitempty"`
	Around    *AroundRepeats  `json:"around,omitempty"`
}

// RepeatsSettings is how the run was asked for.
type RepeatsSettings struct {
	Repeats int    `json:"repeats"`
	Schema  string `json:"schema,omitempty"` // the file given with --schema
}

// PerRepeat is the mean over the repeats that were counted.
type PerRepeat struct {
	// ServerCPUMS is processor time of the backend. Absent where it runs on another machine, or the system does not tell.
	ServerCPUMS *float64 `json:"server_cpu_ms,omitempty"`
	WALBytes    float64  `json:"wal_bytes"`
	XIDs        float64  `json:"xids"`
	// Row versions written, refused and rolled-back ones included, and dead ones that are still there at the end. Absent before
	// PostgreSQL 15, whose statistics come when they like.
	RowVersions     *float64 `json:"row_versions,omitempty"`
	DeadRows        *float64 `json:"dead_rows,omitempty"`
	HeapBytes       float64  `json:"heap_bytes"` // growth of the tables, which is by pages
	IndexBytes      float64  `json:"index_bytes"`
	SequenceNumbers float64  `json:"sequence_numbers"` // of the identity, used up
}

// AroundRepeats is what the figures have to be read with.
type AroundRepeats struct {
	// Checkpointed says that a checkpoint came first, and then a repeat that was not counted, so that full-page images are out of the
	// way; false where the role may make none.
	Checkpointed bool `json:"checkpointed"`
	// What the server wrote afterwards in as much time, when no repeat was sent: the share of others.
	IdleMS       float64 `json:"idle_ms"`
	IdleWALBytes int64   `json:"idle_wal_bytes"`
	IdleXIDs     int64   `json:"idle_xids"`
}
