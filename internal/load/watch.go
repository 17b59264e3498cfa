package load

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// watch says what this process takes.
type watch struct {
	cpu     time.Duration // at the start
	base    uint64        // memory in use then
	samples []metrics.Sample
	most    int     // the most attempts under way at a look, once there are many
	each    float64 // and the memory for each of them then
}

// many is how many attempts must be under way for the memory in use to say anything of one.
const many = 1000

func newWatch() *watch {
	w := &watch{cpu: processorTime(), samples: []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}, {Name: "/gc/heap/live:bytes"},
	}}
	runtime.GC() // what the warm-up left is not the attempts'
	metrics.Read(w.samples)
	w.base = w.samples[0].Value.Uint64() + w.samples[1].Value.Uint64()
	return w
}

// look takes stock, with so many attempts under way. What is garbage and not yet collected counts: the machine has to have it.
func (w *watch) look(inFlight int) cost {
	metrics.Read(w.samples)
	inUse := w.samples[0].Value.Uint64() + w.samples[1].Value.Uint64()
	if inFlight >= many && inFlight > w.most && inUse > w.base {
		w.most, w.each = inFlight, float64(inUse-w.base)/float64(inFlight)
	}
	c := cost{CPU: -1, Procs: runtime.GOMAXPROCS(0), Heap: w.samples[2].Value.Uint64(), Each: w.each}
	if now := processorTime(); now >= 0 {
		c.CPU = now - w.cpu
	}
	return c
}
