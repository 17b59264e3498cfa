package server

import (
	"maps"
	"strings"
)

// Info describes the server of a run, as it stands in the run's document.
type Info struct {
	Version        string            // "15.18"
	VersionNum     int               // 150018, as server_version_num
	Source         string            // one of the Source constants
	Embedded       bool              // a server of our own, thrown away afterwards
	Superuser      bool              // whether the lab's role is superuser
	MaxConnections int               // as configured on the server, reserved ones included
	Settings       map[string]string // fsync, synchronous_commit, full_page_writes, what --pg-set named, and timeouts that are set
	NotDurable     string            // why a commit may be lost in a power cut, in words; "" when it may not

	onMemory bool // the data folder lies on a file system that is memory
}

// clone keeps callers from sharing one map.
func (i Info) clone() Info {
	i.Settings = maps.Clone(i.Settings)
	return i
}

// judgeDurability fills NotDurable. It matters because a commit that waits for no disk is 3 to 4 times too
// fast, and every window between two commits narrows with it.
func (i *Info) judgeDurability() {
	var why []string
	for _, name := range durabilitySettings() {
		if i.Settings[name] == "off" {
			why = append(why, name+" is off")
		}
	}
	if i.onMemory {
		why = append(why, "the data folder is on tmpfs, that is, in memory")
	}
	i.NotDurable = strings.Join(why, "; ")
}

// warning is the end of the line that announces the server.
func (i *Info) warning() string {
	if i.NotDurable == "" {
		return ""
	}
	return "; not durable: " + i.NotDurable
}

// durabilitySettings names the settings whose value "off" lets a server lose or tear what it acknowledged.
func durabilitySettings() []string {
	return []string{"fsync", "synchronous_commit", "full_page_writes"}
}
