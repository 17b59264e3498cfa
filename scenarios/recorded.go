package scenarios

// Recorded is what the acquirer's receipt becomes in the table: status, resposta_http, resposta_corpo. Every strategy writes this,
// so that whoever finishes what one of them left half-way leaves the answer that it would have left itself.
func Recorded(r Receipt) (status string, http int, body string) {
	out := outcomeOf(r)
	return out.status, out.http, out.body
}
