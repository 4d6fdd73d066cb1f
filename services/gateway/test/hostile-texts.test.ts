import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { networkOf, normalizeAddress, parseCidrs } from '@rms/base/cidr';
import { RmsError } from '@rms/base/errors';
import {
  BodyBudget,
  checkHead,
  clientOf,
  parseBody,
  parseQuery,
  readJsonBody,
  requestIdOf,
  shownText,
} from '@rms/net/http';
import { isLinear } from '@rms/testkit';
import { checkId, idempotencyKeyOf } from '../../../packages/api/src/endpoint.ts';
import { createResource, listResources } from '../../../packages/api/src/resource/endpoints.ts';
import { createWebhook } from '../../../packages/api/src/webhook/endpoints.ts';
import { keyHashOf } from '../src/checks/admission.ts';

const size = 64 * 1024;
/**
 * Each text has a valid start, a long repetition and an invalid end. A backtracking regular expression would need
 * exponential time.
 */
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

/** Returns whether `read` threw an RmsError. Any other error fails the test. */
function refused(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(RmsError);
    return true;
  }
}

describe('Texts of 64 KiB that are expensive for regular expressions', () => {
  test.each([
    ['a key', (text: string) => keyHashOf(requestWith({ authorization: text }), 'live')],
    ['an Idempotency-Key', (text: string) => idempotencyKeyOf(requestWith({ 'idempotency-key': text }))],
    ['a host', (text: string) => checkHead(requestWith({ host: text }))],
    ['a resource ID', (text: string) => checkId('res', text)],
    ['a cursor', (text: string) => parseQuery(listResources.query, `?${new URLSearchParams({ cursor: text })}`)],
    ['per_page', (text: string) => parseQuery(listResources.query, `?${new URLSearchParams({ per_page: text })}`)],
    ['a sort field', (text: string) => parseQuery(listResources.query, `?${new URLSearchParams({ sort: text })}`)],
    ['a raw query', (text: string) => parseQuery(listResources.query, `?x${text}`)],
    ['a name', (text: string) => createResource.body && parseBody(createResource.body, { name: text })],
    [
      'a metadata key',
      (text: string) => createResource.body && parseBody(createResource.body, { name: 'x', metadata: { [text]: '' } }),
    ],
    [
      'a webhook URL',
      (text: string) => createWebhook.body && parseBody(createWebhook.body, { url: text, events: ['*'] }),
    ],
  ])('%s is rejected', (_, read) => {
    for (const text of texts) expect([text.slice(0, 40), refused(() => read(text))]).toEqual([text.slice(0, 40), true]);
  });

  test('an X-Request-ID is replaced', () => {
    for (const text of texts) expect(requestIdOf(requestWith({ 'x-request-id': text }))).toMatch(/^req_/);
  });

  test('an address is invalid', () => {
    for (const text of texts) {
      expect(normalizeAddress(text)).toBeUndefined();
      expect(proxies.has(text)).toBe(false);
      expect(() => parseCidrs([text])).toThrow();
      expect(networkOf(text)).toBe('');
    }
  });

  test.each(['x-forwarded-for', 'forwarded'])('%s yields the address of the proxy or a valid entry', (name) => {
    for (const text of texts) {
      const { address } = clientOf(requestWith({ [name]: text }), proxies);
      expect(['10.0.0.1', '1.1.1.1']).toContain(address);
    }
  });

  test('a body with such a Content-Type is rejected', async () => {
    for (const text of texts) {
      const request = Object.assign(Readable.from([]), { headers: { 'content-type': text } });
      const response = { setHeader() {} } as unknown as ServerResponse;
      const reading = readJsonBody(request as unknown as IncomingMessage, response, {
        budget: new BodyBudget(),
        owners: [],
      });
      await expect(reading).rejects.toBeInstanceOf(RmsError);
    }
  });
});

describe('Texts and lists of 256 KiB', () => {
  const size = 256 * 1024;
  const key = '-----BEGIN PRIVATE KEY-----';
  const nameOf = (length: number) => `${key.repeat(length / key.length)}\n`;
  const violationsOf = (body: object) => {
    try {
      if (createWebhook.body) parseBody(createWebhook.body, body);
    } catch (error) {
      if (error instanceof RmsError) return error.details;
    }
    throw new Error('the body was not refused');
  };

  test('are shown in time that depends on the shown length only', () => {
    expect(isLinear(size, nameOf, (text) => shownText(text, 100))).toBe(true);
  });

  test('take time in proportion to their length as the names of fields', () => {
    expect(isLinear(size, (length) => ({ [nameOf(length)]: 1 }), violationsOf)).toBe(true);
    expect(isLinear(size, (length) => ({ rate_limit: { [nameOf(length)]: 1 } }), violationsOf)).toBe(true);
  });

  test('report at most 100 violations', () => {
    const fields = Object.fromEntries(Array.from({ length: 26_000 }, (_, i) => [`field_${i}`, i]));
    expect(violationsOf(fields)).toHaveLength(100);
    const fieldsOf = (count: number) => Object.fromEntries(Object.entries(fields).slice(0, count));
    expect(isLinear(6_500, fieldsOf, violationsOf)).toBe(true);
  });

  test('are refused as events without an error per item', () => {
    const events = Array<number>(130_000).fill(0);
    expect(violationsOf({ url: 'https://example.com', events })).toEqual([
      { field: 'events', message: 'must have at most 15 items' },
    ]);
  });
});
