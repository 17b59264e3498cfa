package server

import "context"

// LetGo ends this process's use of a schema that it has joined, and drops nothing, also where nobody else holds it any more: for whoever
// only came to help, and must not take the tables of a service with him that was killed and is about to be started again. After it,
// Leave or Drop, a call does nothing.
func (h *Schema) LetGo(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return
	}
	h.done = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	h.release(ctx)
}
