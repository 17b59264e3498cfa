// Command idemlab shows, on a real PostgreSQL, what a service does with the second request for one payment.
package main

import (
	_ "embed"
	"os"

	"idemlab/cmd"
)

//go:embed schema.sql
var schema string

func main() { os.Exit(cmd.Main(schema, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)) }
