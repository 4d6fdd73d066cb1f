import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { RmsError } from '@rms/errors';
import {
  checkHead,
  clientAddress,
  normalizeAddress,
  parseBody,
  parseCidrs,
  parseQuery,
  readJsonBody,
  requestIdOf,
} from '@rms/http';
import { keyHashOf } from '../src/checks/authenticate.ts';
import { networkOf } from '../src/checks/failed-authentications.ts';
import { idempotencyKeyOf } from '../src/checks/idempotency-key.ts';
import { checkId } from '../src/routes/check-id.ts';
import { createResource } from '../src/routes/create-resource.ts';
import { createWebhook } from '../src/routes/create-webhook.ts';
import { listResources } from '../src/routes/list-resources.ts';

const size = 64 * 1024;
/** Each starts well, goes on for long, and ends wrong, where a pattern that goes back would try all ways anew. */
const heads = ['', 'Bearer ', 'Bearer sk_live_', 'application/json;', '[', '"[', '1.1.1.1', '::', 'res_', 'https://'];
const bodies = [
  ' ',
  '\t',
  'a',
  '0',
  '1.',
  ':',
  '::',
  '1:',
  ',',
  ', ',
  'a.',
  'a-',
  '=',
  ';',
  'charset=',
  '"',
  '[',
  '%',
  '\ud800',
  '\0',
];
const texts = heads.flatMap((head) =>
  bodies.flatMap((part) => ['', '!', '\n'].map((tail) => head + part.repeat(size / part.length) + tail)),
);

const requestWith = (headers: Record<string, string>) =>
  ({
    headers,
    rawHeaders: Object.entries(headers).flat(),
    url: '/',
    httpVersion: '1.1',
    socket: { remoteAddress: '10.0.0.1' },
  }) as unknown as IncomingMessage;
const proxies = parseCidrs(['10.0.0.0/8']);

/** Whether it was refused by an error for the client; anything else fails the test. */
function refused(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(RmsError);
    return true;
  }
}

describe('Texts of 64 KiB that are hard for patterns', () => {
  test.each([
    ['a key', (text: string) => keyHashOf(requestWith({ authorization: text }), 'live')],
    ['an Idempotency-Key', (text: string) => idempotencyKeyOf(requestWith({ 'idempotency-key': text }))],
    ['a host', (text: string) => checkHead(requestWith({ host: text }))],
    ['a resource id', (text: string) => checkId('res', text)],
    ['a cursor', (text: string) => parseQuery(listResources.query, `?${new URLSearchParams({ cursor: text })}`)],
    ['per_page', (text: string) => parseQuery(listResources.query, `?${new URLSearchParams({ per_page: text })}`)],
    ['a sort field', (text: string) => parseQuery(listResources.query, `?${new URLSearchParams({ sort: text })}`)],
    ['a raw query', (text: string) => parseQuery(listResources.query, `?x${text}`)],
    ['a name', (text: string) => createResource.body && parseBody(createResource.body, { name: text })],
    [
      'a key of metadata',
      (text: string) => createResource.body && parseBody(createResource.body, { name: 'x', metadata: { [text]: '' } }),
    ],
    [
      'a webhook URL',
      (text: string) => createWebhook.body && parseBody(createWebhook.body, { url: text, events: ['*'] }),
    ],
  ])('%s: refused', (_, read) => {
    for (const text of texts) expect([text.slice(0, 40), refused(() => read(text))]).toEqual([text.slice(0, 40), true]);
  });

  test('an X-Request-ID is replaced', () => {
    for (const text of texts) expect(requestIdOf(requestWith({ 'x-request-id': text }))).toMatch(/^req_/);
  });

  test('an address is none', () => {
    for (const text of texts) {
      expect(normalizeAddress(text)).toBeUndefined();
      expect(proxies.has(text)).toBe(false);
      expect(() => parseCidrs([text])).toThrow();
      expect(networkOf(text).length).toBeGreaterThan(0);
    }
  });

  test('an X-Forwarded-For leads no further than the proxy', () => {
    for (const text of texts) {
      const { address } = clientAddress(requestWith({ 'x-forwarded-for': text }), proxies);
      expect(['10.0.0.1', '1.1.1.1']).toContain(address);
    }
  });

  test('a body under such a media type is refused', async () => {
    for (const text of texts) {
      const request = Object.assign(Readable.from([]), { headers: { 'content-type': text } });
      const reading = readJsonBody(request as unknown as IncomingMessage, {} as ServerResponse);
      await expect(reading).rejects.toBeInstanceOf(RmsError);
    }
  });
});
