package rabbittest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// process is one of the node's.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// run starts a program that ends with this one, however this one ends.
func (n *Node) run(name string, args ...string) (*process, error) {
	said, err := os.OpenFile(n.path("said"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer said.Close() // the child has its own copy
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = n.env, n.dir, said, said
	endsWithUs(cmd)
	p := &process{cmd: cmd, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for the end of its parent.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // a killed process ends with an error
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// stop asks, waits, and does not ask again.
func (p *process) stop() error {
	if p == nil {
		return nil
	}
	defer kill(p.cmd.Process.Pid)
	if err := terminate(p.cmd.Process); err != nil && !ended(p) {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(20 * time.Second):
	}
	kill(p.cmd.Process.Pid)
	<-p.exited
	return fmt.Errorf("%s did not end when asked, and was killed", p.cmd.Path)
}

func ended(p *process) bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
