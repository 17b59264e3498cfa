-- The tables of the lab, scenario by scenario. The first, charge: one row is one charge (cobrança), and its key says which wish
-- to pay it belongs to.
-- Source of names and statuses: article 1, section 3, "Na prática, com SQL".
--
-- Every run creates a schema of its own, runs this file inside it, and drops it at the end.
-- Hand the lab another file with --schema; for charge it must create `cobranca` with these columns. What stands below it is for
-- some strategies or for other scenarios, and a file for the rest may leave it out.

CREATE TABLE cobranca (
    -- Advances with every INSERT, also with a refused one: gaps are normal, and no business number.
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,

    -- Made by the client, once per wish to pay, and sent again with each retry of that wish.
    idempotency_key text   NOT NULL,

    -- What is being paid. A retry must repeat both: the same key with another order or amount is another
    -- operation under a used key, and is refused (422).
    pedido_id       bigint NOT NULL,
    valor_centavos  bigint NOT NULL,

    -- PROCESSANDO: claimed, outcome unknown.  CAPTURADA: money moved.  RECUSADA: the acquirer said no.
    status          text   NOT NULL,

    -- The first answer, kept so that a retry is told exactly the same. NULL while PROCESSANDO.
    -- jsonb reorders keys, so the first answer, too, is what comes back from the table, not what was written.
    resposta_http   int,
    resposta_corpo  jsonb,

    criada_em       timestamptz NOT NULL DEFAULT now(),

    -- The whole guarantee is this line: of two INSERTs with one key, the database refuses one, and there is no
    -- window between looking and writing because they are the same operation.
    -- For strategies that do without it, the lab drops it and puts a plain index in its place, so that looking up
    -- stays as fast and only the refusal is gone.
    CONSTRAINT uq_cobranca_idempotency_key UNIQUE (idempotency_key)
);

-- The order that is paid for. Locking and versioning need a row that is there already, and before the first charge the
-- charge is not: strategies that lock (SELECT … FOR UPDATE) or version take the order's row instead, and with it hold up
-- every other charge of the order. Its row is there before the first attempt, as in any shop.
CREATE TABLE pedido (
    id     bigint PRIMARY KEY,

    -- Optimistic locking: whoever writes raises it by one, and only if it is still what was read.
    versao bigint NOT NULL DEFAULT 0,

    -- PENDENTE, PAGANDO, and then what the charge came to: CAPTURADA or RECUSADA.
    estado text   NOT NULL DEFAULT 'PENDENTE'
);

-- What the strategies at the end of the gallery note beside a charge; the others never look at it.
ALTER TABLE cobranca
    -- A lease: until when the charge belongs to whoever works on it. Afterwards anybody may take it over.
    ADD COLUMN posse_ate timestamptz,
    -- A fencing token: raised with each takeover, so that the worker from before can be told from the one of now.
    ADD COLUMN ficha     bigint NOT NULL DEFAULT 1,
    -- A recovery point: how far the charge has got. INICIADA, COBRADA, RESPONDIDA.
    ADD COLUMN fase      text,
    -- The acquirer's number for it, kept from the moment at which it is known.
    ADD COLUMN captura   text,
    -- Whose charge it is, where several tenants share the service. The constraint above knows nothing of it.
    ADD COLUMN inquilino bigint NOT NULL DEFAULT 0;

-- What was paid for: a row for each business event, however many keys it was asked for under. A key has a lifetime, and its row goes
-- with it; this row stays, so that a retry which comes later than that is still known.
CREATE TABLE pagamento (
    pedido_id       bigint NOT NULL,

    -- Which of the order's charges, by the shop's own count. The order alone would forbid the second instalment.
    parcela         int    NOT NULL,

    -- Under which key it was asked for first: the acquirer knows it by that one, also when the key's own row is gone.
    idempotency_key text   NOT NULL,
    valor_centavos  bigint NOT NULL,

    CONSTRAINT pk_pagamento PRIMARY KEY (pedido_id, parcela)
);

-- The scenario two-tenants: charges of several tenants (inquilinos), who make their keys without knowing of each other.
CREATE TABLE cobranca_inquilino (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,

    -- Whose key it is. Not what the client sends, but who the client is.
    -- NOT NULL is part of the guarantee: NULL is distinct from NULL, and without a tenant the constraint below would refuse nothing.
    inquilino       bigint NOT NULL,

    -- As in cobranca: by tenant, order and amount are another wish under a used key, and by another tenant they are a wish of its own.
    idempotency_key text   NOT NULL,
    pedido_id       bigint NOT NULL,
    valor_centavos  bigint NOT NULL,
    status          text   NOT NULL,
    resposta_http   int,
    resposta_corpo  jsonb,

    criada_em       timestamptz NOT NULL DEFAULT now(),

    -- A key is unique within something, and the constraint says what. Unique by itself means within the whole table, which is one
    -- tenant's guess at what no other tenant will ever send.
    CONSTRAINT uq_cobranca_inquilino_idempotency_key UNIQUE (inquilino, idempotency_key)
);

-- The scenario debit: article 1, section 4, "A decisão depende do valor lido". Balance here, stock elsewhere: whatever is read,
-- reckoned with and written back.
CREATE TABLE conta (
    id             bigint PRIMARY KEY,

    -- No CHECK (saldo_centavos >= 0): it would turn an overdraft into an error, and leave a lost update as it is, for a balance
    -- that was overwritten is too high, not too low.
    saldo_centavos bigint NOT NULL,

    -- As in pedido: whoever writes raises it by one, and only if it is still what was read.
    versao         bigint NOT NULL DEFAULT 0
);

-- What was taken from an account, a row for each debit: what the balance must agree with.
CREATE TABLE lancamento (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conta_id        bigint NOT NULL,

    -- A key for each debit. It keeps a retry from debiting twice, and says nothing about two debits that read one balance:
    -- those are two operations, with a key each.
    idempotency_key text   NOT NULL,
    valor_centavos  bigint NOT NULL,
    criado_em       timestamptz NOT NULL DEFAULT now(),

    CONSTRAINT uq_lancamento_idempotency_key UNIQUE (idempotency_key)
);

CREATE INDEX lancamento_conta_id ON lancamento (conta_id);

-- The scenario resource: what PUT, DELETE and POST leave when they are repeated (article 2; RFC 9110, section 9.2.2).
CREATE TABLE recurso (
    -- With PUT and DELETE the client's, with POST the server's own: this is the whole difference between them.
    id        bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,

    -- Which wish it belongs to. No strategy looks at it: it is for whoever counts afterwards.
    pedido_id bigint NOT NULL,
    nome      text   NOT NULL
);
