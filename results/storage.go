package results

// Storage is what keys cost in bytes in one layout of the table, and what it costs to be rid of those that have expired. Sizes are of
// main forks, as pg_relation_size has them. WAL is by pg_wal_lsn_diff, so that whatever else the server wrote meanwhile is in it.
// What an interrupted run did not come to is absent.
type Storage struct {
	Settings StorageSettings `json:"settings"`

	Layout        string `json:"layout"`                   // "text-v4-by-day"
	KeyType       string `json:"key_type"`                 // the column's: "text" or "uuid"
	UUIDVersion   int    `json:"uuid_version"`             // of the keys: 4 is random, 7 begins with the time
	PartitionedBy string `json:"partitioned_by,omitempty"` // "day" of arrival, or the "key" itself; absent where the table is one

	KeysLoaded int               `json:"keys_loaded"`
	LoadMS     float64           `json:"load_ms"`
	Size       *StorageSize      `json:"size,omitempty"` // after loading
	SameKey    *StorageSameKey   `json:"same_key,omitempty"`
	WAL        *StorageWAL       `json:"wal,omitempty"`
	Projection *StorageProjected `json:"projection,omitempty"`
	Purge      *StoragePurge     `json:"purge,omitempty"`
}

// StorageSettings is how the run was asked for.
type StorageSettings struct {
	Keys       int     `json:"keys"`
	Rate       float64 `json:"rate"` // keys a second, which the projection is for
	LifetimeMS float64 `json:"lifetime_ms"`
	Batch      int     `json:"batch"`  // rows of one DELETE
	Sample     int     `json:"sample"` // keys written one by one
}

// StorageSize is the table with the loaded keys, finished charges with their stored answer.
type StorageSize struct {
	HeapBytes              int64   `json:"heap_bytes"`
	UniqueIndexBytes       int64   `json:"unique_index_bytes"`
	OtherIndexesBytes      int64   `json:"other_indexes_bytes"`
	HeapBytesPerKey        float64 `json:"heap_bytes_per_key"`
	UniqueIndexBytesPerKey float64 `json:"unique_index_bytes_per_key"`
	OtherIndexBytesPerKey  float64 `json:"other_indexes_bytes_per_key"`
	BytesPerKey            float64 `json:"bytes_per_key"`
}

// StorageSameKey is what became of a key that came again: one key, one row, or not.
type StorageSameKey struct {
	RowsSameDay int `json:"rows_same_day"` // of the key, after it came again on its day
	RowsNextDay int `json:"rows_next_day"` // and after it came on the next
	// Refusal is what PostgreSQL says to UNIQUE (idempotency_key) alone, where the table is partitioned by something else.
	Refusal string `json:"refusal,omitempty"`
}

// StorageWAL is what keys cost that are written one by one, each statement a transaction, right after a checkpoint: the INSERT that
// claims and the UPDATE that records.
type StorageWAL struct {
	Keys         int              `json:"keys"`
	Checkpointed bool             `json:"checkpointed"` // false: the role may not, and full-page images are as they came
	Claim        StorageStatement `json:"claim"`
	Record       StorageStatement `json:"record"`
}

// StorageStatement is one statement with its commit. The first change of a page after a checkpoint writes the whole page to the WAL.
type StorageStatement struct {
	WALBytes        float64  `json:"wal_bytes"`                          // mean
	WALBytesNoImage *float64 `json:"wal_bytes_without_images,omitempty"` // mean of those that wrote no full-page image; absent where all did
	Images          *float64 `json:"full_page_images,omitempty"`         // mean; absent where the server does not tell (PostgreSQL 12)
}

// StorageProjected is reckoned, not measured: bytes per key times rate and time.
type StorageProjected struct {
	BytesPerDay             float64  `json:"bytes_per_day"`
	SteadyBytes             float64  `json:"steady_bytes"`                        // at the rate, keys of one lifetime
	SteadyBytesBeforePurge  float64  `json:"steady_bytes_before_purge"`           // and a day of expired ones, where the purge is once a day
	WALBytesPerDay          *float64 `json:"wal_bytes_per_day,omitempty"`         // without full-page images
	WALBytesPerDayAllImages *float64 `json:"wal_bytes_per_day_at_most,omitempty"` // were every key written right after a checkpoint
}

// StoragePurge is what it took to be rid of the keys of one expired day.
type StoragePurge struct {
	Method      string         `json:"method"` // "delete" in batches, or "drop" of a partition
	ExpiredKeys int            `json:"expired_keys"`
	Statements  int            `json:"statements"` // DELETEs, or DROPs
	DurationMS  float64        `json:"duration_ms"`
	WALBytes    int64          `json:"wal_bytes"`
	BytesBefore int64          `json:"bytes_before"` // heap and indexes
	BytesAfter  int64          `json:"bytes_after"`
	Vacuum      *StorageVacuum `json:"vacuum,omitempty"` // absent after a drop, which leaves nothing to VACUUM
	// BytesUnused is what the table has at the end beyond what its keys took before, by the key: room for new keys, and for nobody else.
	BytesUnused int64 `json:"bytes_unused"`
	// ExpiredKeyAccepted says that a purged key that came again was taken for a new one: what the lifetime is a promise about.
	ExpiredKeyAccepted bool `json:"expired_key_accepted"`
}

// StorageVacuum is the VACUUM after the DELETEs.
type StorageVacuum struct {
	DurationMS float64 `json:"duration_ms"`
	WALBytes   int64   `json:"wal_bytes"`
	BytesAfter int64   `json:"bytes_after"`
}

// BytesAtEnd is the table when all is done.
func (p StoragePurge) BytesAtEnd() int64 {
	if p.Vacuum != nil {
		return p.Vacuum.BytesAfter
	}
	return p.BytesAfter
}
