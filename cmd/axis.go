package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"idemlab/internal/acquirer"
)

// axis is a setting of a race, and the values that it takes in turn.
type axis struct {
	name   string
	values []setting
}

// setting is one value of an axis: as it is written, and what it makes of a race's flags.
type setting struct {
	label string
	apply func(*raceFlags)
}

// variable is a flag of race that may be an axis, and how a list of its values is read.
type variable struct {
	name string
	read func(list string) ([]setting, error)
}

func variables() []variable {
	return []variable{
		{"attempts", numbers(func(f *raceFlags, n int) { f.attempts = n })},
		{"acquirer-latency", latencies},
		{"pool", numbers(func(f *raceFlags, n int) { f.pool = n })},
		{"instances", numbers(func(f *raceFlags, n int) { f.instances = n })},
		{"isolation", levels},
	}
}

func variableNames() []string {
	var names []string
	for _, v := range variables() {
		names = append(names, v.name)
	}
	return names
}

// mostValues bounds an axis, whose values may be a range.
const mostValues = 100

// axisOf reads NAME=VALUE,VALUE,….
func axisOf(typed string) (axis, error) {
	name, list, ok := strings.Cut(typed, "=")
	at := slices.Index(variableNames(), name)
	switch {
	case at < 0:
		return axis{}, fmt.Errorf("nothing called %q can be varied; there are: %s", name, strings.Join(variableNames(), ", "))
	case !ok || list == "":
		return axis{}, fmt.Errorf("%s takes which values? say %s", name, exampleOf(name))
	}
	values, err := variables()[at].read(list)
	if err != nil {
		return axis{}, err
	}
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v.label] {
			return axis{}, fmt.Errorf("%s=%s stands there twice", name, v.label)
		}
		seen[v.label] = true
	}
	return axis{name, values}, nil
}

// exampleOf is what to type.
func exampleOf(name string) string {
	return name + "=" + map[string]string{
		"attempts": "2,5,10,20", "acquirer-latency": "0s,1ms,50ms", "pool": "2,10,50", "instances": "1,2,4",
		"isolation": "read-committed,serializable",
	}[name]
}

// numbers reads whole numbers from 1, and ranges of them.
func numbers(set func(*raceFlags, int)) func(string) ([]setting, error) {
	read := func(s string) (int64, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("%q is no number: say 1 or more", s)
		}
		return int64(n), nil
	}
	return func(list string) (values []setting, err error) {
		for item := range strings.SplitSeq(list, ",") {
			all, err := spread(item, 1, read)
			if err != nil {
				return nil, err
			}
			for _, n := range all {
				values = append(values, setting{strconv.FormatInt(n, 10), func(f *raceFlags) { set(f, int(n)) }})
			}
		}
		return values, nil
	}
}

// latencies reads what --acquirer-latency takes, and ranges of fixed times.
func latencies(list string) (values []setting, err error) {
	items := strings.Split(list, ",")
	for i := 0; i < len(items); i++ {
		item := items[i]
		if strings.HasPrefix(item, "uniform:") && i+1 < len(items) {
			i++ // the comma in it was its own
			item += "," + items[i]
		}
		one := []acquirer.Latency{{}}
		if strings.Contains(item, "..") {
			all, err := spread(item, 0, func(s string) (int64, error) {
				d, err := time.ParseDuration(s)
				return int64(d), err
			})
			if err != nil {
				return nil, err
			}
			one = nil
			for _, d := range all {
				one = append(one, acquirer.Fixed(time.Duration(d)))
			}
		} else if err := one[0].Set(item); err != nil {
			return nil, err
		}
		for _, l := range one {
			values = append(values, setting{l.String(), func(f *raceFlags) { f.latency = l }})
		}
	}
	return values, nil
}

func levels(list string) (values []setting, err error) {
	for item := range strings.SplitSeq(list, ",") {
		level, err := isolationOf(item)
		if err != nil {
			return nil, err
		}
		values = append(values, setting{string(level), func(f *raceFlags) { f.common.isolation = string(level) }})
	}
	return values, nil
}

// spread reads one value, or a range of them: A..B, A..B+STEP or A..B*FACTOR. A step of 0 is none that goes without saying.
func spread(item string, step int64, read func(string) (int64, error)) ([]int64, error) {
	from, rest, isRange := strings.Cut(item, "..")
	first, err := read(from)
	if err != nil || !isRange {
		return []int64{first}, err
	}
	to, factor := rest, int64(0)
	if i := strings.IndexAny(rest, "+*"); i >= 0 {
		to = rest[:i]
		if rest[i] == '*' {
			if factor, err = strconv.ParseInt(rest[i+1:], 10, 64); err != nil || factor < 2 {
				err = fmt.Errorf("it is multiplied by %q: say 2 or more", rest[i+1:])
			}
		} else {
			step, err = read(rest[i+1:])
		}
	}
	last, lastErr := read(to)
	switch err := errors.Join(err, lastErr); {
	case err != nil:
		return nil, fmt.Errorf("%q is no range: %w", item, err)
	case last < first:
		return nil, fmt.Errorf("%q is no range: say the smaller end first", item)
	case factor != 0 && first < 1:
		return nil, fmt.Errorf("%q is no range: what is multiplied starts above 0", item)
	case factor == 0 && step < 1:
		return nil, fmt.Errorf("%q is no range: say its step, as in %s+10ms or 1ms..64ms*2", item, item)
	}
	var all []int64
	for v := first; v <= last; {
		if all = append(all, v); len(all) > mostValues {
			return nil, fmt.Errorf("%q has more than %d values: take a wider step", item, mostValues)
		}
		switch {
		case factor == 0 && v <= last-step:
			v += step
		case factor != 0 && v <= last/factor:
			v *= factor
		default:
			return all, nil
		}
	}
	return all, nil
}
