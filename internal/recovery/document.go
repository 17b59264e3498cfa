package recovery

import "idemlab/results"

// mostNamed bounds how many orphans a document names one by one; all of them are counted.
const mostNamed = 200

// Document is the pass as it stands in the run document.
func (r Report) Document(name string) results.RecoveryPass {
	p := results.RecoveryPass{Name: name, Fates: []results.FateCount{}, Orphans: []results.SettledOrphan{}}
	for i, o := range r.Orphans {
		p.Found.Count++
		p.Found.Cents += o.AmountCents
		if i < mostNamed {
			p.Orphans = append(p.Orphans, results.SettledOrphan{
				ID: o.ID, Key: o.Key, OrderID: o.OrderID, AmountCents: o.AmountCents, AgeMS: results.MS(o.Age),
				Fate: string(o.Fate), Receipt: o.Receipt.ID, HTTP: o.HTTP, Reason: o.Reason,
			})
		}
	}
	for _, f := range Fates() {
		if n, cents := r.Count(f); n > 0 {
			p.Fates = append(p.Fates, results.FateCount{Fate: string(f), Count: n, Cents: cents})
		}
	}
	p.Changed = r.Changed()
	return p
}
