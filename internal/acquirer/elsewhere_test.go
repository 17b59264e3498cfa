package acquirer

import (
	"testing"

	"idemlab/scenarios"
)

// What can be no acquirer's URL is refused before anybody waits for one; what it is asked for goes by its scheme.
func TestAt(t *testing.T) {
	for _, url := range []string{
		"", "127.0.0.1:8081", "ftp://127.0.0.1:21", "http://", "http://:8081", "smtp://", "smtp://:8025", "http://127.0.0.1:port",
		"http://127.0.0.1:99999", "http://127.0.0.1:0", "smtp://tok@127.0.0.1:99999", "smtp://tok@127.0.0.1:0", "smtp://127.0.0.1:-1",
	} {
		if _, err := At(url, 1); err == nil {
			t.Errorf("%q is taken for an acquirer's URL", url)
		}
	}
	for url, want := range map[string]scenarios.Effect{
		"http://127.0.0.1": scenarios.Money, "https://127.0.0.1:65535/token": scenarios.Money, "smtp://tok@127.0.0.1:8025": scenarios.EMail, "smtp://mail": scenarios.EMail,
	} {
		e, err := At(url, 1)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if e.Effect() != want {
			t.Errorf("%s is asked for a %v", url, e.Effect())
		}
		e.Close()
	}
}
