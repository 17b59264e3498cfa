package storage

import (
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// newKey draws a UUID as a client would make it at that moment: of version 4, all chance, or of version 7, which begins with the
// milliseconds since 1970 (RFC 9562, sections 5.4 and 5.7).
func newKey(r *rand.Rand, version int, at time.Time) pgtype.UUID {
	k := pgtype.UUID{Valid: true}
	binary.BigEndian.PutUint64(k.Bytes[:8], r.Uint64())
	binary.BigEndian.PutUint64(k.Bytes[8:], r.Uint64())
	if version == 7 {
		putMillis(&k, at)
	}
	k.Bytes[6] = k.Bytes[6]&0x0f | byte(version)<<4
	k.Bytes[8] = k.Bytes[8]&0x3f | 0x80
	return k
}

// firstKey is below every key of version 7 that was made from that moment on, and above those from before.
func firstKey(at time.Time) pgtype.UUID {
	k := pgtype.UUID{Valid: true}
	putMillis(&k, at)
	return k
}

func putMillis(k *pgtype.UUID, at time.Time) {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli()))
	copy(k.Bytes[:6], ms[2:])
}

// keyOf is the nth key of the layout, the same for the same seed.
func (l Layout) keyOf(seed uint64, n int, at time.Time) pgtype.UUID {
	return newKey(rand.New(rand.NewPCG(seed, uint64(n))), l.Version, at)
}

// argument is a key as the layout's column takes it.
func (l Layout) argument(k pgtype.UUID) any {
	if l.Type == "uuid" {
		return k
	}
	return k.String()
}
