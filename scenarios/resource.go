package scenarios

import "fmt"

// Resource is idempotency as HTTP means it (RFC 9110, section 9.2.2): of the effect, not of the answer. One request is sent by
// several clients, and what is there in the end must be what one of them alone would have left.
var Resource = Scenario{
	Name:       "resource",
	Title:      "one HTTP request, sent again and again: the state must be as after the first, whatever the answers",
	Strategies: resourceStrategies,
	Control:    Post,
	Tables:     []string{"recurso"},
	Answers:    []Answer{Done, NotFound, Failed},
	Rows: `
		SELECT id, '', pedido_id, 0::bigint, 'recurso', 0, nome, 0::bigint
		  FROM recurso
		 WHERE id > $1
		   AND pedido_id >= $2
		 ORDER BY id`,
	Request: theSame,
	Check:   checkResource,
	Measure: func(in Intent) map[string]int64 { return map[string]int64{"resources": int64(len(in.Rows))} },
}

// contentOf is what a request says a resource is to be.
func contentOf(req Request) string { return fmt.Sprintf("pagamento de %d centavos", req.AmountCents) }

// checkResource holds the state against what the answers promised: 200 and 201 that the resource is there, once and with this
// content, 204 and 404 that it is not. Answers may differ; promises may not be broken.
func checkResource(in Intent) []Finding {
	if in.RowsUnknown {
		return nil
	}
	there, gone := 0, 0
	for _, a := range in.Attempts {
		switch {
		case a.Died:
		case a.HTTP == 200 || a.HTTP == 201:
			there++
		case a.HTTP == 204 || a.HTTP == 404:
			gone++
		}
	}
	wrong := 0
	for _, r := range in.Rows {
		if r.Body != contentOf(in.Request) {
			wrong++
		}
	}
	n := len(in.Rows)
	switch {
	case gone > 0 && n > 0:
		return []Finding{{StateDiffers, n, fmt.Sprintf("%s told that it is gone, and there is %s", count(gone, "client"), count(n, "resource"))}}
	case there > 0 && n != 1:
		return []Finding{{StateDiffers, max(n-1, 1-n), fmt.Sprintf("one request leaves 1 resource, and there is %s", count(n, "resource"))}}
	case there > 0 && wrong > 0:
		return []Finding{{StateDiffers, wrong, "the resource has another content than the request's"}}
	}
	return nil
}
