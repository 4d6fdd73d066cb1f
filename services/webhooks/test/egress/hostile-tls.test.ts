import { readFileSync } from 'node:fs';
import { createEgress, createGuardedAgent } from '@rms/net/guarded-http';
import { type ListenerName, perSuite, startHostileReceiver } from '@rms/testkit';
import { soleAttemptAt } from '../attempt-at.ts';

describe('attempts at receivers with broken TLS, by a client that trusts their authority', () => {
  const listeners: ListenerName[] = [
    'https',
    'expired',
    'wrongName',
    'selfSigned',
    'oldTls',
    'mute',
    'closing',
    'http',
  ];
  const receiver = perSuite(() => startHostileReceiver({ listeners }));
  beforeAll(() => {
    ca = readFileSync(receiver.caFile, 'utf8');
  });

  let ca: string;
  const attempt = (url: string) => {
    const egress = createEgress({ allowHttp: false, allowCidrs: ['127.0.0.0/8'] });
    return soleAttemptAt(url, createGuardedAgent({ egress, ca: () => ca }));
  };

  test.each<[ListenerName, number, string | RegExp]>([
    ['https', 200, ''],
    ['expired', 0, /^tls: CERT_HAS_EXPIRED after /],
    ['wrongName', 0, /^tls: ERR_TLS_CERT_ALTNAME_INVALID after /],
    ['selfSigned', 0, /^tls: (?!ERR_)/],
    ['oldTls', 0, /^tls: ERR_SSL_/],
    ['mute', 0, /^tls: timed out after (?:[5-9]|\d\d)\.\d s$/],
    ['closing', 0, /^tls: ECONNRESET after /],
  ])('%s: %i %s', async (listener, status, error) => {
    const response = await attempt(receiver.url('/', listener));
    expect(response.statusCode).toBe(status);
    if (typeof error === 'string') expect(response.error).toBe(error);
    else expect(response.error).toMatch(error);
    expect(receiver.requests('/')).toHaveLength(1);
  });

  test('HTTP where TLS is expected', async () => {
    const response = await attempt(`https://127.0.0.1:${receiver.ports.http}/`);
    expect(response).toMatchObject({ statusCode: 0, error: expect.stringMatching(/^(?:tls|connection|connect): /) });
  });
});
