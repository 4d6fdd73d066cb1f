import { readFileSync } from 'node:fs';
import { makeCertificates, suiteFolder } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource, Webhook } from '../support/api-types.ts';
import type { Target } from '../support/shape.ts';
import { subscribe } from '../support/subscriber.ts';
import { webhookAccount } from '../support/webhook-scene.ts';

interface Rotated {
  id: string;
  secret?: string;
  previous_secret_expires_at: string | null;
}

const folder = suiteFolder('client-certificates-of-webhooks');

export function webhookSecretsSuite(target: () => Target): void {
  describe('Secrets of webhooks', () => {
    const { account, client, receiver, create } = webhookAccount(target);

    test('rotating the secret returns a new one, and during the overlap both sign', async () => {
      const subscriber = await subscribe(client, receiver);
      const path = `/v1/webhooks/${subscriber.webhook.id}/rotate_secret`;
      const { data } = expectStatus(await client.post<One<Rotated>>(path, { overlap: 600 }), 200).body;
      expect(data.secret).toMatch(/^whsec_/);
      expect(data.secret).not.toBe(subscriber.secret);
      expect(Date.parse(data.previous_secret_expires_at ?? '')).toBeGreaterThan(Date.now());
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Signed twice' }), 201);
      const [received] = await subscriber.waitFor(1);
      expect(received?.headers['webhook-signature']?.split(' ')).toHaveLength(2);
      const without = expectStatus(await client.post<One<Rotated>>(path, { overlap: 0 }), 200).body.data;
      expect(without.previous_secret_expires_at).toBeNull();
      const byDefault = expectStatus(await client.send<One<Rotated>>('POST', path), 200).body.data;
      expect(Date.parse(byDefault.previous_secret_expires_at ?? '') - Date.now()).toBeGreaterThan(86_000_000);
      for (const overlap of [-1, 604_801, 'a']) expect((await client.post(path, { overlap })).status).toBe(400);
    });

    test('a repeated rotation with the Idempotency-Key returns the secret only to the key that sent it', async () => {
      const { id } = await create();
      const path = `/v1/webhooks/${id}/rotate_secret`;
      const idempotencyKey = 'rotate once';
      const first = expectStatus(await client.post<One<Rotated>>(path, { overlap: 60 }, { idempotencyKey }), 200);
      const again = await client.post(path, { overlap: 60 }, { idempotencyKey });
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
      const { key } = await account.newKey('live', 'admin');
      const { secret: _, ...rest } = first.body.data;
      const other = await client.post(path, { overlap: 60 }, { idempotencyKey, key });
      expect([other.status, other.body]).toEqual([200, { data: rest }]);
      const reused = await client.post<ErrorBody>(path, { overlap: 61 }, { idempotencyKey });
      expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused']);
    });

    test('a client certificate of a webhook is set and removed, and its key is never returned', async () => {
      const certificates = makeCertificates(folder);
      const { certFile, keyFile } = certificates.issue('client');
      const certificate = readFileSync(certFile, 'utf8');
      const private_key = readFileSync(keyFile, 'utf8');
      const { id } = await create();
      const path = `/v1/webhooks/${id}/client_certificate`;
      const made = await client.put<One<Webhook>>(path, { certificate, private_key });
      expect([made.status, made.body.data.client_certificate]).toEqual([
        200,
        {
          subject: 'CN=client',
          fingerprint_sha256: expect.stringMatching(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/),
          expires_at: expect.stringMatching(/Z$/),
        },
      ]);
      expect(JSON.stringify(made.body)).not.toContain('PRIVATE');
      const { data } = (await client.get<One<Webhook>>(`/v1/webhooks/${id}`)).body;
      expect(data.client_certificate).toEqual(made.body.data.client_certificate);
      const other = readFileSync(certificates.issue('other').keyFile, 'utf8');
      for (const [field, body] of [
        ['client_certificate', { certificate, private_key: other }],
        ['client_certificate', { certificate: 'no certificate', private_key }],
        ['private_key', { certificate }],
        ['private_key', { certificate, private_key: '' }],
      ] as const) {
        const wrong = await client.put<ErrorBody>(path, body);
        expect([wrong.status, wrong.body.error.details?.[0]?.field]).toEqual([400, field]);
      }
      const stale = await client.delete(path, { headers: { 'if-match': '"1.x"' } });
      const removed = await client.delete<One<Webhook>>(path, { headers: { 'if-match': made.headers.etag ?? '' } });
      expect([stale.status, removed.status, removed.body.data.client_certificate]).toEqual([412, 200, null]);
      const { data: entries } = (await client.get<Page<object>>(`/v1/audit_log?target_id=${id}&per_page=100`)).body;
      expect(JSON.stringify(entries)).not.toContain('PRIVATE');
      expect(entries).toHaveLength(3);
    });
  });
}
