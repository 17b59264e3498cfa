package results

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of the run document.
//
//go:embed schema.json
var Schema string
