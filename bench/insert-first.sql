-- insert-first as pgbench has it: the claim and the record, each committed by itself, under a new key each time.
INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
VALUES (gen_random_uuid()::text, 1, 25000, 'PROCESSANDO')
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key AS key \gset
UPDATE cobranca
   SET status         = 'CAPTURADA',
       resposta_http  = 201,
       resposta_corpo = '{"captura": "cap-000001", "status": "CAPTURADA"}'
 WHERE idempotency_key = :key
RETURNING resposta_http, resposta_corpo::text;
