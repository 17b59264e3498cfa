package load

import "github.com/HdrHistogram/hdrhistogram-go"

// packed is a share as it crosses a process border: of a histogram of some twenty thousand counts only those that are not zero.
type packed struct {
	Standing                              standing
	Sums                                  sums
	Response, Service, Answered, PoolWait sparse
}

type sparse struct {
	Where []int32
	Count []int64
}

func pack(s share) *packed {
	t := s.tally
	return &packed{
		Standing: s.standing, Sums: t.sums,
		Response: thin(t.Response), Service: thin(t.Service), Answered: thin(t.Answered), PoolWait: thin(t.PoolWaits),
	}
}

func (p *packed) unpack() share {
	return share{&tally{
		Response: p.Response.histogram(), Service: p.Service.histogram(), Answered: p.Answered.histogram(), PoolWaits: p.PoolWait.histogram(),
		sums: p.Sums,
	}, p.Standing}
}

func thin(h *hdrhistogram.Histogram) (s sparse) {
	for i, n := range h.Export().Counts {
		if n != 0 {
			s.Where, s.Count = append(s.Where, int32(i)), append(s.Count, n)
		}
	}
	return s
}

func (s sparse) histogram() *hdrhistogram.Histogram {
	snapshot := newHistogram().Export()
	for i, at := range s.Where {
		snapshot.Counts[at] = s.Count[i]
	}
	return hdrhistogram.Import(snapshot)
}
