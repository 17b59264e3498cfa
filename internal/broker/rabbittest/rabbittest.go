// Package rabbittest gives tests a real RabbitMQ: a throwaway node of their own, on ports of its own, with its files in a temporary
// folder and no plugins. It needs no root, no account and no systemd, and touches no other node.
package rabbittest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// startLimit is what a start may take: five seconds on a quiet machine, several times that on a busy one.
const startLimit = 2 * time.Minute

// Node is a running RabbitMQ.
type Node struct {
	URL string

	dir  string
	bin  string // folder of rabbitmq-server and rabbitmqctl
	env  []string
	epmd *process
	node *process
}

// Start starts a node and stops it when the test is over. Where RabbitMQ is missing the test fails: skipping would leave everything
// unproven, and green.
func Start(t testing.TB) *Node {
	t.Helper()
	n := &Node{dir: t.TempDir()}
	var err error
	if n.bin, err = find(); err != nil {
		t.Fatalf("rabbittest: these tests need a RabbitMQ: %v\n  to install one: %s", err, installCommand())
	}
	t.Cleanup(func() { // before the folder goes, which was made first
		if err := n.stop(); err != nil {
			t.Errorf("rabbittest: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if err := n.start(ctx); err != nil {
		t.Fatalf("rabbittest: %v\n%s", err, n.log())
	}
	return n
}

// find looks where the packages of Debian, RPM and Homebrew put the scripts themselves: what stands in PATH is a wrapper that wants to
// be root.
func find() (string, error) {
	dirs := []string{"/usr/lib/rabbitmq/bin", "/opt/homebrew/opt/rabbitmq/sbin", "/usr/local/opt/rabbitmq/sbin"}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "rabbitmq-server")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no rabbitmq-server in %v", dirs)
}

func installCommand() string {
	switch {
	case exists("/etc/debian_version"):
		return "sudo apt-get install rabbitmq-server"
	case exists("/etc/redhat-release"):
		return "sudo dnf install rabbitmq-server"
	case runtime.GOOS == "darwin":
		return "brew install rabbitmq"
	}
	return "your system's package rabbitmq-server, or https://www.rabbitmq.com/docs/download"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (n *Node) start(ctx context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	amqpPort, distPort, epmdPort := ports[0], ports[1], ports[2]
	n.URL = fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", amqpPort)
	files := map[string]string{
		"enabled_plugins": "[].\n",
		"env.conf":        "",
		"rabbitmq.conf":   fmt.Sprintf("listeners.tcp.1 = 127.0.0.1:%d\n", amqpPort),
		"advanced.config": "[].\n",
	}
	for name, text := range files {
		if err := os.WriteFile(n.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	n.env = []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "HOME=" + n.dir, // the cookie lies there
		"ERL_EPMD_PORT=" + strconv.Itoa(epmdPort), "ERL_EPMD_ADDRESS=127.0.0.1",
		"RABBITMQ_NODENAME=" + fmt.Sprintf("idemlab-%d-%d@localhost", os.Getpid(), amqpPort),
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(distPort),
		"RABBITMQ_MNESIA_BASE=" + n.path("data"), "RABBITMQ_LOG_BASE=" + n.path("log"), "RABBITMQ_LOGS=-",
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + n.path("enabled_plugins"), "RABBITMQ_CONF_ENV_FILE=" + n.path("env.conf"),
		"RABBITMQ_CONFIG_FILE=" + n.path("rabbitmq"), "RABBITMQ_ADVANCED_CONFIG_FILE=" + n.path("advanced.config"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + n.path("generated"), "RABBITMQ_PID_FILE=" + n.path("pid"),
		"detached=1", // the script becomes the server, in place of watching over it
	}
	// A name server of the node's own: else it would start one that stays for good.
	if n.epmd, err = n.run("epmd", "-port", strconv.Itoa(epmdPort), "-address", "127.0.0.1"); err != nil {
		return err
	}
	if n.node, err = n.run(filepath.Join(n.bin, "rabbitmq-server")); err != nil {
		return err
	}
	return n.ready(ctx)
}

// ready returns when the node lets somebody in.
func (n *Node) ready(ctx context.Context) error {
	for {
		conn, err := amqp.Dial(n.URL)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-n.node.exited:
			return errors.New("RabbitMQ ended while it started")
		case <-ctx.Done():
			return fmt.Errorf("RabbitMQ does not answer: %w", err)
		}
	}
}

// Eval runs an Erlang expression on the node.
func (n *Node) Eval(t testing.TB, expression string) {
	t.Helper()
	n.ask(t, expression)
}

// ask works in a test's clean-up, too, when its context has ended.
func (n *Node) ask(t testing.TB, expression string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(n.bin, "rabbitmqctl"), "-q", "eval", expression)
	cmd.Env, cmd.Dir = n.env, n.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("rabbitmqctl eval %s: %v\n%s", expression, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Queues counts the node's queues.
func (n *Node) Queues(t testing.TB) int {
	t.Helper()
	count, err := strconv.Atoi(n.ask(t, "length(rabbit_amqqueue:list())."))
	if err != nil {
		t.Fatalf("count the queues: %v", err)
	}
	return count
}

func (n *Node) stop() error {
	return errors.Join(n.node.stop(), n.epmd.stop())
}

func (n *Node) path(name string) string { return filepath.Join(n.dir, name) }

// log is the end of what the processes said.
func (n *Node) log() string {
	const most = 4000
	text, _ := os.ReadFile(n.path("said"))
	return string(text[max(0, len(text)-most):])
}

// freePorts asks the kernel for ports that nobody uses.
func freePorts(count int) ([]int, error) {
	var ports []int
	for range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // held until all are found, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
