package spec

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseReadsEveryPart(t *testing.T) {
	got, err := Parse(`# invariant: SELECT 1 WHERE false;
setup { one }
setup
{
  two }
teardown{three	}
-- invariant: SELECT 2 WHERE false
session "s 1"
setup { four }
step a { five
  -- invariant: SELECT 3 WHERE false
}
step "b""q" { } # nothing
teardown { six }
session s2 step c$1 { seven }
permutation a c$1(*) "b""q"
permutation a(c$1, "c$1" notices 12) c$1
# invariant: SELECT 1 WHERE false`)
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Setup:    []string{"one", "\n  two"},
		Teardown: "three",
		Sessions: []Session{
			{Name: "s 1", Setup: "four", Teardown: "six", Steps: []Step{
				{"a", "five\n  -- invariant: SELECT 3 WHERE false\n"}, {`b"q`, ""}}},
			{Name: "s2", Steps: []Step{{"c$1", "seven"}}},
		},
		Permutations: []Permutation{
			{{Step: "a"}, {Step: "c$1", Markers: []Marker{{Kind: Once}}}, {Step: `b"q`}},
			{{Step: "a", Markers: []Marker{{Kind: UntilDone, Step: "c$1"}, {Kind: UntilNotices, Step: "c$1", Notices: 12}}}, {Step: "c$1"}},
		},
		Invariants: []string{"SELECT 1 WHERE false", "SELECT 2 WHERE false", "SELECT 3 WHERE false"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseErrorsNameTheLine(t *testing.T) {
	const good = "session s\nstep a { SELECT 1; }\n"
	for _, c := range []struct{ text, want string }{
		{"", "line 1: a session expected, found the end"},
		{"\n\nstep a { }", `line 3: a session expected, found "step"`},
		{"session s", "line 1: a step expected, found the end"},
		{"session\n{ }", "line 2: the session's name expected, found a block of SQL"},
		{"session setup", `line 1: the session's name expected, found "setup"`},
		{"session s\nstep a\nstep b { }", `line 3: a block of SQL in braces expected, found "step"`},
		{"session s\nstep a { SELECT\n1;", "line 2: unterminated sql block"},
		{"session \"s\nstep", "line 1: unexpected newline in quoted identifier"},
		{`session "s`, "line 1: unterminated quoted identifier"},
		{"setup { }\n" + good, "line 1: the setup block is empty: leave it out"},
		{"\nteardown\n{\t}\n" + good, "line 2: the teardown block is empty: leave it out"},
		{"teardown { x }\nsetup { y }\n" + good, `line 2: a session expected, found "setup"`},
		{"-- a comment\n" + good, `line 1: unexpected character "-"`},
		{good + "session t\nstep a { }", "line 4: duplicate step name a: it is also on line 2"},
		{good + "permutation", "line 3: a step's name expected, found the end"},
		{good + "permutation a\npermutation b", "line 4: undefined step b"},
		{good + "permutation a(b)", "line 3: step a waits for step b, which is not in this permutation"},
		{good + "permutation a(a)", "line 3: step a cannot wait for step a of its own session"},
		{good + "permutation a(*", `line 3: "," or ")" expected, found the end`},
		{good + "permutation a(", `line 3: "*" or a step's name expected, found the end`},
		{good + "permutation a(a notices)", `line 3: a number expected, found ")"`},
		{good + "permutation a(a notices 99999999999)", "line 3: number 99999999999 is too large"},
		{good + "permutation a 1", `line 3: a permutation, or the end expected, found "1"`},
		{good + "permutation a\nsession t", `line 4: a permutation, or the end expected, found "session"`},
	} {
		_, err := Parse(c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestUnusedSteps(t *testing.T) {
	s, err := Parse("session s step a { } step b { } session t step c { } permutation a")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Unused(); !slices.Equal(got, []string{"b", "c"}) {
		t.Error(got)
	}
}

func TestWriteKeepsTheSpecsOfTestdata(t *testing.T) {
	for name, text := range files(t) {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Write(&out, s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, err := Parse(out.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
}

// What is written reads back as the same spec, whatever the names and the SQL.
func TestWriteAndParseAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		var out bytes.Buffer
		if err := Write(&out, s); err != nil {
			t.Fatalf("%v\n%+v", err, s)
		}
		back, err := Parse(out.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		if !reflect.DeepEqual(back, s) {
			t.Fatalf("%+v\n%s\n%+v", s, &out, back)
		}
	})
}

func drawSpec(t *rapid.T) Spec {
	sql := rapid.StringMatching(`[a-z"'#$(\\é]([a-z \n"'#$(),*{\\é-]{0,8}[a-z"'\n])?`)
	maybe := rapid.OneOf(rapid.Just(""), sql)
	names := rapid.SliceOfNDistinct(rapid.OneOf(rapid.StringMatching(`[a-zé_][a-z0-9$]{0,3}|[ -~]{0,4}`),
		rapid.SampledFrom([]string{"step", "setup", "notices", "permutation"})), 2, 6, rapid.ID).Draw(t, "names")
	s := Spec{Setup: nilIfEmpty(rapid.SliceOfN(sql, 0, 2).Draw(t, "setup")), Teardown: maybe.Draw(t, "teardown")}
	half := rapid.IntRange(1, len(names)-1).Draw(t, "half")
	for i, mine := range [][]string{names[:half], names[half:]} {
		session := Session{Name: names[i], Setup: maybe.Draw(t, "setup"), Teardown: maybe.Draw(t, "teardown")}
		for _, name := range mine {
			session.Steps = append(session.Steps, Step{name, maybe.Draw(t, "step")})
		}
		s.Sessions = append(s.Sessions, session)
	}
	for range rapid.IntRange(0, 2).Draw(t, "permutations") {
		p := Permutation{{Step: names[0]}, {Step: names[half]}}
		for i := range p {
			other := p[1-i].Step
			p[i].Markers = nilIfEmpty(rapid.SliceOfN(rapid.SampledFrom([]Marker{{Kind: Once}, {Kind: UntilDone, Step: other},
				{Kind: UntilNotices, Step: other, Notices: 3}}), 0, 3).Draw(t, "markers"))
		}
		s.Permutations = append(s.Permutations, p)
	}
	s.Invariants = nilIfEmpty(rapid.SliceOfNDistinct(rapid.StringMatching(`SELECT [a-z0-9 "']{0,5}[a-z]`), 0, 3, rapid.ID).Draw(t, "invariants"))
	return s
}

func nilIfEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

func TestWriteRefusesWhatTheFormatCannotSay(t *testing.T) {
	with := func(change func(*Spec)) Spec {
		s := Spec{Sessions: []Session{{Name: "s", Steps: []Step{{"a", "SELECT 1"}}}}}
		change(&s)
		return s
	}
	for want, s := range map[string]Spec{
		"closing brace":         with(func(s *Spec) { s.Sessions[0].Steps[0].SQL = "SELECT '{}'" }),
		"line end":              with(func(s *Spec) { s.Sessions[0].Name = "a\nb" }),
		"does not fit into one": with(func(s *Spec) { s.Invariants = []string{"SELECT 1 -- one\nWHERE false"} }),
		"needs a session":       {},
		"has no step":           with(func(s *Spec) { s.Sessions[0].Steps = nil }),
		"duplicate step name":   with(func(s *Spec) { s.Sessions = append(s.Sessions, s.Sessions[0]) }),
		"undefined step":        with(func(s *Spec) { s.Permutations = []Permutation{{{Step: "z"}}} }),
	} {
		var out bytes.Buffer
		if err := Write(&out, s); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("want an error with %q and nothing written, got %v, %q", want, err, &out)
		}
	}
}

// FuzzParse: no text makes Parse panic, and what it reads can be written and read again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "session s step a { }", "{", `"`, "#", "--", "-- invariant:", "permutation a(b notices 1, *)",
		"setup { x }\nsession \"a\"\"\" setup{\n}step a{b}\npermutation a(*)\r#\xff\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("no line in %q", err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, s); err != nil {
			return // a NUL, or an invariant's odd spaces
		}
		if again, err := Parse(out.String()); err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("%v\n%+v\n%+v\n%s", err, s, again, &out)
		}
	})
}
