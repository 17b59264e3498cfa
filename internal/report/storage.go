package report

import (
	"fmt"
	"strings"
	"time"

	"idemlab/results"
)

// subject is what a run is about: its strategy, or, under storage, which runs none, the layout of the table.
func subject(r results.Run) string {
	if r.Storage != nil {
		return r.Storage.Layout
	}
	return r.Strategy
}

func storageHeading(b *strings.Builder, r results.Run) {
	s := r.Storage.Settings
	fmt.Fprintf(b, "storage, %s: %s in each layout, over a lifetime of %s and the day that expired before; seed %d\n",
		r.Scenario, count(s.Keys, "key"), lifetime(s), r.Seed)
}

// storageFields are the figures of one layout: what a key takes, what it makes at the rate, and the purge.
func storageFields(r results.Run) []field {
	s := *r.Storage
	rate := fmt.Sprintf("%s/s", decimal(s.Settings.Rate))
	return []field{
		{"heap, a key", []string{keyBytes(s, func(z results.StorageSize) float64 { return z.HeapBytesPerKey })}, plain},
		{"unique index", []string{keyBytes(s, func(z results.StorageSize) float64 { return z.UniqueIndexBytesPerKey })}, plain},
		{"other indexes", []string{keyBytes(s, func(z results.StorageSize) float64 { return z.OtherIndexBytesPerKey })}, plain},
		{"a day at " + rate, []string{projected(s, func(p results.StorageProjected) float64 { return p.BytesPerDay })}, plain},
		{lifetime(s.Settings) + " of them", []string{projected(s, func(p results.StorageProjected) float64 { return p.SteadyBytes })}, plain},
		{"before a purge", []string{projected(s, func(p results.StorageProjected) float64 { return p.SteadyBytesBeforePurge })}, plain},
		{"WAL of a claim", []string{statementWAL(s, func(w results.StorageWAL) results.StorageStatement { return w.Claim })}, plain},
		{"with page images", []string{statementImages(s, func(w results.StorageWAL) results.StorageStatement { return w.Claim })}, plain},
		{"WAL of a record", []string{statementWAL(s, func(w results.StorageWAL) results.StorageStatement { return w.Record })}, plain},
		{"WAL a day, least", []string{projectedWAL(s, func(p results.StorageProjected) *float64 { return p.WALBytesPerDay })}, plain},
		{"WAL a day, most", []string{projectedWAL(s, func(p results.StorageProjected) *float64 { return p.WALBytesPerDayAllImages })}, plain},
		{"purge", purgeHow(s), plain},
		{"took", purgeTook(s), plain},
		{"its WAL", purgeWAL(s), plain},
		{"table before", []string{purged(s, func(p results.StoragePurge) int64 { return p.BytesBefore })}, plain},
		{"table after", []string{purged(s, results.StoragePurge.BytesAtEnd)}, plain},
		{"of it unused", []string{purged(s, func(p results.StoragePurge) int64 { return p.BytesUnused })}, plain},
		{"rows of one key", []string{keyRows(s)}, moodOf(r)},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}
}

func keyBytes(s results.Storage, of func(results.StorageSize) float64) string {
	if s.Size == nil {
		return absent
	}
	return size(of(*s.Size))
}

func projected(s results.Storage, of func(results.StorageProjected) float64) string {
	if s.Projection == nil {
		return absent
	}
	return size(of(*s.Projection))
}

func projectedWAL(s results.Storage, of func(results.StorageProjected) *float64) string {
	if s.Projection == nil || of(*s.Projection) == nil {
		return absent
	}
	return size(*of(*s.Projection))
}

// statementWAL is what a statement writes that changes no page for the first time; where there was none such, what it wrote.
func statementWAL(s results.Storage, of func(results.StorageWAL) results.StorageStatement) string {
	if s.WAL == nil {
		return absent
	}
	c := of(*s.WAL)
	if c.WALBytesNoImage == nil {
		return absent
	}
	return size(*c.WALBytesNoImage)
}

// statementImages is what it wrote on average, full-page images included.
func statementImages(s results.Storage, of func(results.StorageWAL) results.StorageStatement) string {
	if s.WAL == nil {
		return absent
	}
	return size(of(*s.WAL).WALBytes)
}

func purgeHow(s results.Storage) []string {
	switch p := s.Purge; {
	case p == nil:
		return []string{absent}
	case p.Method == "drop":
		return []string{"DROP the day"}
	default:
		return []string{fmt.Sprintf("%s DELETE", thousands(int64(p.Statements))), "+ VACUUM"}
	}
}

func purgeTook(s results.Storage) []string {
	if s.Purge == nil {
		return []string{absent}
	}
	lines := []string{ms(&s.Purge.DurationMS)}
	if v := s.Purge.Vacuum; v != nil {
		lines = append(lines, "+ "+ms(&v.DurationMS))
	}
	return lines
}

func purgeWAL(s results.Storage) []string {
	if s.Purge == nil {
		return []string{absent}
	}
	lines := []string{size(float64(s.Purge.WALBytes))}
	if v := s.Purge.Vacuum; v != nil {
		lines = append(lines, "+ "+size(float64(v.WALBytes)))
	}
	return lines
}

func purged(s results.Storage, of func(results.StoragePurge) int64) string {
	if s.Purge == nil {
		return absent
	}
	return size(float64(of(*s.Purge)))
}

func keyRows(s results.Storage) string {
	if s.SameKey == nil {
		return absent
	}
	if s.SameKey.RowsNextDay == s.SameKey.RowsSameDay {
		return thousands(int64(s.SameKey.RowsSameDay))
	}
	return fmt.Sprintf("%d, next day %d", s.SameKey.RowsSameDay, s.SameKey.RowsNextDay)
}

// storageNotes say what the figures cannot.
func storageNotes(runs []results.Run) (lines []string) {
	images, none, deletes, accepted := false, false, false, false
	for _, r := range runs {
		s := r.Storage
		if s == nil {
			continue
		}
		images = images || s.WAL != nil && s.WAL.Checkpointed
		none = none || s.WAL != nil && !s.WAL.Checkpointed
		deletes = deletes || s.Purge != nil && s.Purge.Vacuum != nil
		accepted = accepted || s.Purge != nil && s.Purge.ExpiredKeyAccepted
		if k := s.SameKey; k != nil && k.Refusal != "" {
			lines = append(lines, fmt.Sprintf("%s: UNIQUE (idempotency_key) alone is refused: %s.", s.Layout, k.Refusal))
			if k.RowsNextDay > 1 {
				lines = append(lines, fmt.Sprintf("%s: with the day in it, a key that came again on the next day was a new one: %d rows. A retry past midnight charges again.",
					s.Layout, k.RowsNextDay))
			}
		}
		if s.PartitionedBy == "key" && s.SameKey != nil {
			lines = append(lines, s.Layout+": the day is read from the key, so a retry meets its row on any day; it trusts the clock of whoever made the key.")
		}
	}
	if images {
		lines = append(lines, "After a checkpoint the first change of a page writes the whole page to the WAL: random keys (v4) change another page nearly each time, keys in order (v7) the same one again.")
	}
	if none {
		lines = append(lines, "The role may make no CHECKPOINT, so that the full-page images in the WAL are as they came.")
	}
	if deletes {
		lines = append(lines, "DELETE and VACUUM make room for the next keys; the files stay as large as they were.")
	}
	if accepted {
		lines = append(lines, "A key that has been purged is a new key: whoever retries later charges again.")
	}
	return lines
}

// lifetime is as it was typed, or nearly: 24h, 7d.
func lifetime(s results.StorageSettings) string {
	d := time.Duration(s.LifetimeMS * float64(time.Millisecond))
	if day := 24 * time.Hour; d > day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok && strings.HasSuffix(cut, map[string]string{"0s": "m", "0m": "h"}[zero]) {
			text = cut
		}
	}
	return text
}
