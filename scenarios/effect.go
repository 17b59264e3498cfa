package scenarios

import "fmt"

// Effect is what must happen once for each intent, wherever a strategy says Capture. The strategies are the same whatever it is: what
// cannot be undone is guarded in one way. It is a flag's value, and stands in the run document; there money, which came first, is absent.
type Effect string

// The effects.
const (
	Money Effect = ""      // a capture at an acquirer
	EMail Effect = "email" // an e-mail to the customer, over SMTP
)

// EffectNames lists the effects as they are typed.
func EffectNames() []string { return []string{"capture", string(EMail)} }

// EffectNamed is the opposite of String.
func EffectNamed(name string) (Effect, bool) {
	switch name {
	case "capture":
		return Money, true
	case string(EMail):
		return EMail, true
	}
	return Money, false
}

// String is the effect as it is typed.
func (e Effect) String() string {
	if e == Money {
		return "capture"
	}
	return string(e)
}

// Words are what reports call an effect and its ways to go wrong. Anomalies keep their names.
type Words struct {
	One        string // it, once
	Far        string // who has it happen
	Charge     string // to have it happen, of a strategy: charged twice
	Charged    string
	Doubled    string // of an intent for which it happened more than once
	Duplicates string // of which a race saw none
	Nothing    string // it did not happen
	Perhaps    string // what may have happened where nobody knows, or not
	Untrue     string // what a client was told of that never was
	Amount     string // behind the cents of which the effect speaks
	Once       string // what a far end does that has it happen once for each key
	Dedup      string // said of a far end that has it happen once for each key
	Unwritten  string // it happened, and no row says so
	Unknown    string // the same, of one intent's story
	Cents      bool   // what it comes to is money taken
}

// Words are the effect's.
func (e Effect) Words() Words {
	if e == EMail {
		return Words{
			One: "e-mail", Far: "mail server", Charge: "send", Charged: "sent", Doubled: "sent twice", Duplicates: "duplicate e-mails",
			Nothing: "no e-mail went out", Perhaps: "the e-mail may have gone out", Untrue: "an e-mail that never went out", Amount: "in e-mails",
			Once:      "takes each Message-ID once",
			Dedup:     "this mail server takes each Message-ID once. No standard asks that of it.",
			Unwritten: "e-mails that no row tells of", Unknown: "an e-mail went out and nobody had written it down",
		}
	}
	return Words{
		One: "capture", Far: "acquirer", Charge: "charge", Charged: "charged", Doubled: "double-charged", Duplicates: "double charges",
		Nothing: "no money moved", Perhaps: "the money may have moved", Untrue: "a charge that never happened", Amount: "captured",
		Once:      "moves money once for each key",
		Dedup:     "this acquirer moves money once for each key. Not every one does.",
		Unwritten: "money taken that no row says was taken", Unknown: "money was taken and nobody had written it down", Cents: true,
	}
}

// Happens is what the far end does when it happens, and under which name.
func (w Words) Happens(cents int64, receipt string) string {
	if !w.Cents {
		return "queues the " + w.One + " as " + receipt
	}
	return fmt.Sprintf("captures %d.%02d, receipt %s", cents/100, cents%100, receipt)
}

// Came is what it came to for an intent.
func (w Words) Came(n int, cents int64) string {
	if !w.Cents {
		return w.count(n)
	}
	return fmt.Sprintf("taken %d.%02d", cents/100, cents%100)
}

// NoneApproved is why a run in which it never happened proves nothing.
func (w Words) NoneApproved() string {
	return fmt.Sprintf("the %s approved nothing, so nothing could be %s twice", w.Far, w.Charged)
}

// count is so many of it.
func (w Words) count(n int) string { return count(n, w.One) }
