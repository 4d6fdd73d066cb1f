import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import {
  deliveryHeaders,
  isWellFormedSecret,
  makeSecret,
  signatureHeaders,
  toSigningSecret,
} from '../../src/signature/signature.ts';

const text = makeSecret();
const secrets = { current: toSigningSecret(text), previous: undefined };
const body = Buffer.from('{"name":"Grüße 🎉","raw":"\\u00e9"}', 'utf8');

describe('signatures', () => {
  test('X-Service-Signature is the lowercase hex HMAC-SHA256 of the raw body, keyed with the whole secret', () => {
    const headers = signatureHeaders(secrets, 'evt_1', body, Date.now());
    expect(headers['x-service-signature']).toBe(createHmac('sha256', text).update(body).digest('hex'));
    expect(headers['x-service-signature']).toMatch(/^[0-9a-f]{64}$/);
  });

  test('the reference verifier of Standard Webhooks accepts a delivery, and rejects a changed delivery', () => {
    const headers = signatureHeaders(secrets, 'evt_1', body, Date.now());
    const verifier = new Webhook(text);
    expect(verifier.verify(body.toString('utf8'), headers)).toEqual({ name: 'Grüße 🎉', raw: 'é' });
    expect(() => verifier.verify(`${body.toString('utf8')} `, headers)).toThrow();
    expect(() => verifier.verify(body.toString('utf8'), { ...headers, 'webhook-id': 'evt_2' })).toThrow();
    expect(() => new Webhook(makeSecret()).verify(body.toString('utf8'), headers)).toThrow();
  });

  test('during an overlap, both secrets verify, the new secret first; X-Service-Signature uses the new secret', () => {
    const newText = makeSecret();
    const both = { current: toSigningSecret(newText), previous: toSigningSecret(text) };
    const headers = signatureHeaders(both, 'evt_1', body, Date.now());
    for (const one of [text, newText]) {
      expect(new Webhook(one).verify(body.toString('utf8'), headers)).toMatchObject({ raw: 'é' });
    }
    const [first] = headers['webhook-signature'].split(' ');
    const newOnly = { ...headers, 'webhook-signature': first ?? '' };
    expect(new Webhook(newText).verify(body.toString('utf8'), newOnly)).toMatchObject({ raw: 'é' });
    expect(() => new Webhook(text).verify(body.toString('utf8'), newOnly)).toThrow();
    expect(headers['x-service-signature']).toBe(createHmac('sha256', newText).update(body).digest('hex'));
  });

  test('a secret is whsec_ and 32 random bytes in base64', () => {
    expect(text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(toSigningSecret(text).bytes).toHaveLength(32);
    expect(makeSecret()).not.toBe(text);
  });

  test('an imported secret is whsec_ and 24 to 64 bytes in base64', () => {
    const of = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
    for (const good of [text, of(24), of(64)]) expect(isWellFormedSecret(good)).toBe(true);
    const [, base64 = ''] = text.split('_');
    for (const bad of ['', 'whsec_', base64, of(23), of(65), `${text} `, `${text.slice(0, -1)}!`, `sk_${base64}`]) {
      expect(isWellFormedSecret(bad)).toBe(false);
    }
  });

  test('the headers contain the event, the request ID and the signatures', () => {
    const nowMs = Date.now();
    const content = { eventId: 'evt_1', requestId: 'req_1', traceparent: '', body };
    const headers = deliveryHeaders(secrets, content, nowMs);
    expect(headers).toEqual({
      'content-type': 'application/json',
      accept: '*/*',
      'user-agent': expect.stringMatching(/^rms-webhooks\//),
      'x-request-id': 'req_1',
      ...signatureHeaders(secrets, 'evt_1', body, nowMs),
    });
    const traceparent = `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`;
    expect(deliveryHeaders(secrets, { ...content, traceparent }, nowMs)).toEqual({ ...headers, traceparent });
    const tracestate = 'vendor=1';
    expect(deliveryHeaders(secrets, { ...content, traceparent, tracestate }, nowMs)).toEqual({
      ...headers,
      traceparent,
      tracestate,
    });
    expect(deliveryHeaders(secrets, { ...content, tracestate }, nowMs)).toEqual(headers);
  });
});
