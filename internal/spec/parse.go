package spec

import (
	"fmt"
	"strconv"
)

// parser holds one token of look-ahead, which is all that the grammar needs.
type parser struct {
	scanner
	tok   token
	lines map[string]int // of each step's and each permutation's place, for messages
}

// Parse reads a spec. Errors begin with "line N: ".
func Parse(text string) (Spec, error) {
	p := &parser{scanner: scanner{text: text, line: 1}, lines: map[string]int{}}
	s, err := p.spec()
	if err != nil {
		return Spec{}, err
	}
	s.Invariants = p.invariants
	if err := s.check(p.lines); err != nil {
		return Spec{}, err
	}
	return s, nil
}

// spec = {setup} [teardown] session {session} {permutation}
func (p *parser) spec() (s Spec, err error) {
	if err := p.advance(); err != nil {
		return s, err
	}
	for p.at("setup") {
		sql, err := p.sql()
		if err != nil {
			return s, err
		}
		s.Setup = append(s.Setup, sql)
	}
	if s.Teardown, err = p.optional("teardown"); err != nil {
		return s, err
	}
	for p.at("session") {
		session, err := p.session()
		if err != nil {
			return s, err
		}
		s.Sessions = append(s.Sessions, session)
	}
	if len(s.Sessions) == 0 {
		return s, p.expected("a session")
	}
	for p.at("permutation") {
		p.lines[permutationKey(len(s.Permutations))] = p.tok.line
		permutation, err := p.permutation()
		if err != nil {
			return s, err
		}
		s.Permutations = append(s.Permutations, permutation)
	}
	if p.tok.kind != end {
		return s, p.expected("a permutation, or the end")
	}
	return s, nil
}

// session = "session" name [setup] step {step} [teardown]
func (p *parser) session() (s Session, err error) {
	if err := p.advance(); err != nil {
		return s, err
	}
	if s.Name, err = p.name("the session's name"); err != nil {
		return s, err
	}
	if s.Setup, err = p.optional("setup"); err != nil {
		return s, err
	}
	for p.at("step") {
		step, err := p.step()
		if err != nil {
			return s, err
		}
		s.Steps = append(s.Steps, step)
	}
	if len(s.Steps) == 0 {
		return s, p.expected("a step")
	}
	s.Teardown, err = p.optional("teardown")
	return s, err
}

// step = "step" name block
func (p *parser) step() (s Step, err error) {
	if err := p.advance(); err != nil {
		return s, err
	}
	line := p.tok.line
	if s.Name, err = p.name("the step's name"); err != nil {
		return s, err
	}
	if first, twice := p.lines[stepKey(s.Name)]; twice {
		return s, fmt.Errorf("line %d: duplicate step name %s: it is also on line %d", line, quote(s.Name), first)
	}
	p.lines[stepKey(s.Name)] = line
	s.SQL, err = p.body()
	return s, err
}

// permutation = "permutation" turn {turn}
func (p *parser) permutation() (permutation Permutation, err error) {
	if err := p.advance(); err != nil {
		return nil, err
	}
	for {
		var t Turn
		if t.Step, err = p.name("a step's name"); err != nil {
			return nil, err
		}
		if p.is("(") {
			if t.Markers, err = p.markers(); err != nil {
				return nil, err
			}
		}
		permutation = append(permutation, t)
		if !p.atName() {
			return permutation, nil
		}
	}
}

// markers = "(" marker {"," marker} ")"
func (p *parser) markers() (all []Marker, err error) {
	for more := true; more; more = p.is(",") {
		if err := p.advance(); err != nil { // past the parenthesis or the comma
			return nil, err
		}
		m, err := p.marker()
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if !p.is(")") {
		return nil, p.expected(`"," or ")"`)
	}
	return all, p.advance()
}

// marker = "*" | name | name "notices" number
func (p *parser) marker() (m Marker, err error) {
	if p.is("*") {
		return Marker{Kind: Once}, p.advance()
	}
	m.Kind = UntilDone
	if m.Step, err = p.name(`"*" or a step's name`); err != nil || !p.at("notices") {
		return m, err
	}
	if err := p.advance(); err != nil {
		return m, err
	}
	if p.tok.kind != number {
		return m, p.expected("a number")
	}
	m.Kind = UntilNotices
	m.Notices, _ = strconv.Atoi(p.tok.text) // the scanner has read it as a number
	return m, p.advance()
}

// optional reads a block that may be missing.
func (p *parser) optional(keyword string) (string, error) {
	if !p.at(keyword) {
		return "", nil
	}
	return p.sql()
}

// sql reads a keyword and its block. An empty block is refused here: isolationtester stops at it when it runs.
func (p *parser) sql() (string, error) {
	keyword, line := p.tok.text, p.tok.line
	if err := p.advance(); err != nil {
		return "", err
	}
	sql, err := p.body()
	if err == nil && sql == "" {
		err = fmt.Errorf("line %d: the %s block is empty: leave it out", line, keyword)
	}
	return sql, err
}

func (p *parser) body() (string, error) {
	if p.tok.kind != block {
		return "", p.expected("a block of SQL in braces")
	}
	sql := p.tok.text
	return sql, p.advance()
}

func (p *parser) name(what string) (string, error) {
	if !p.atName() {
		return "", p.expected(what)
	}
	name := p.tok.text
	return name, p.advance()
}

func (p *parser) advance() (err error) {
	p.tok, err = p.next()
	return err
}

func (p *parser) at(keyword string) bool { return p.tok.kind == word && p.tok.text == keyword }
func (p *parser) is(sign string) bool    { return p.tok.kind == punct && p.tok.text == sign }
func (p *parser) atName() bool {
	return p.tok.kind == quoted || p.tok.kind == word && !isKeyword(p.tok.text)
}

func (p *parser) expected(what string) error {
	found := strconv.Quote(p.tok.text)
	switch p.tok.kind {
	case end:
		found = "the end"
	case block:
		found = "a block of SQL"
	}
	return fmt.Errorf("line %d: %s expected, found %s", p.tok.line, what, found)
}

// isKeyword says which words are names only in quotes.
func isKeyword(s string) bool {
	switch s {
	case "notices", "permutation", "session", "setup", "step", "teardown":
		return true
	}
	return false
}
