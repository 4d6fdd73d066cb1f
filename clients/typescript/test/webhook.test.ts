import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deliveryHeaders, makeSecret, toSigningSecret } from '@rms/base/signature';
import { shiftClock } from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook, WebhookVerificationError } from '../src/index.ts';

interface Vector {
  readonly name: string;
  readonly outcome: 'event' | 'rejected' | 'misconfigured';
  readonly now?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload_base64: string;
  readonly secrets: readonly string[];
}

const file = join(import.meta.dirname, '..', '..', 'webhook-vectors.json');
const { now, vectors } = JSON.parse(readFileSync(file, 'utf8')) as { now: number; vectors: readonly Vector[] };
const errors = { rejected: WebhookVerificationError, misconfigured: TypeError };

test.each(vectors)('$outcome: $name', async ({ outcome, headers, payload_base64, secrets, now: ownNow = now }) => {
  const payload = Buffer.from(payload_base64, 'base64');
  const restore = shiftClock(ownNow * 1_000 - Date.now());
  try {
    const verified = verifyWebhook(payload, headers, secrets);
    if (outcome === 'event') expect(await verified).toEqual(JSON.parse(payload.toString()));
    else await expect(verified).rejects.toBeInstanceOf(errors[outcome]);
  } finally {
    restore();
  }
});

describe('a delivery of the service', () => {
  const [current, previous] = [makeSecret(), makeSecret()];
  const body = '{"id":"evt_1","type":"resource.created","name":"Grüße 李"}';
  const content = { eventId: 'evt_1', requestId: 'req_1', traceparent: '', body: Buffer.from(body) };
  const secrets = { current: toSigningSecret(current), previous: toSigningSecret(previous) };
  const headers = (ageSeconds = 0) => deliveryHeaders(secrets, content, Date.now() - ageSeconds * 1_000);

  const bytes = new TextEncoder().encode(body);
  const around = new Uint8Array([0, ...bytes, 0]);
  test.each([
    ['text', body],
    ['a Buffer', Buffer.from(body)],
    ['an ArrayBuffer', bytes.buffer],
    ['a part of a buffer', around.subarray(1, -1)],
  ])('is verified with its body as %s', async (_, payload) => {
    for (const known of [current, previous, [current, previous]]) {
      expect(await verifyWebhook(payload, headers(), known)).toEqual(JSON.parse(body));
    }
  });

  test('is verified with the headers of the Fetch API and of Node', async () => {
    await verifyWebhook(body, new Headers(headers()), current);
    await verifyWebhook(body, { ...headers(), accept: ['a', 'b'], host: undefined }, current);
    const repeated = { ...headers(), 'webhook-signature': ['v1,a', headers()['webhook-signature'] ?? ''] };
    await expect(verifyWebhook(body, repeated, current)).rejects.toThrow('webhook-signature is missing');
  });

  test('is rejected when it is older than the tolerance', async () => {
    await verifyWebhook(body, headers(20), current, { toleranceSeconds: 30 });
    await expect(verifyWebhook(body, headers(40), current, { toleranceSeconds: 30 })).rejects.toThrow('tolerance');
    await expect(verifyWebhook(body, headers(), current, { toleranceSeconds: Number.NaN })).rejects.toThrow(
      'tolerance',
    );
  });

  test('is verified as a library of Standard Webhooks does', async () => {
    const signature = new Webhook(current).sign('evt_1', new Date(), body);
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signed = { 'webhook-id': 'evt_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
    expect(new Webhook(current).verify(body, signed)).toEqual(await verifyWebhook(body, signed, current));
  });

  test('names neither the secret nor the signature in errors', async () => {
    const secret = 'whsec_Zm9v';
    await expect(verifyWebhook(body, headers(), secret)).rejects.toThrow(/^(?!.*Zm9v)/);
    const wrong = verifyWebhook(body, headers(), makeSecret());
    await expect(wrong).rejects.toThrow('no signature in webhook-signature is of a known secret');
  });
});
