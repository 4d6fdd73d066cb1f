import { connect } from 'node:net';
import { perSuite, startStandalone } from '@rms/testkit';
import { createMutator, type HostileRequest } from './request-mutator.ts';

const requests = 10_000;
const workers = 8;
const settings = {
  RATE_LIMIT_REQUESTS: '0',
  WORKSPACE_RATE_LIMIT_REQUESTS: '0',
  MONTHLY_QUOTA: '0',
  AUTH_FAILURE_LIMIT: '0',
};

/** Sends a request on a new connection and reads until the other side closes it. */
function exchange(url: string, { bytes, whole }: HostileRequest): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    // An incomplete request might wait forever for a response, so the connection is half-closed after it.
    if (whole) socket.write(bytes);
    else socket.end(bytes);
  });
}

/** Returns the problem with a response, or undefined. */
function problemOf(text: string, { whole, noBody }: HostileRequest): string | undefined {
  if (text === '') return whole ? 'has no response' : undefined;
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n/g)].map(([, status]) => Number(status));
  const responses = statuses.filter((status) => status >= 200);
  if (responses.length === 0 && whole) return 'has no response';
  if (responses.some((status) => status >= 500)) return 'returned 5xx';
  if ((text.match(/^X-Request-ID: \S{8,128}\r$/gm) ?? []).length !== responses.length) return 'lacks X-Request-ID';
  const [head = '', body = ''] = text.slice(text.search(/HTTP\/1\.1 [2-5]/)).split('\r\n\r\n');
  if (noBody || responses.length !== 1 || (responses[0] as number) < 400) return undefined;
  if (!/^Content-Type: application\/json/m.test(head)) return 'returned an error that is not JSON';
  const { error } = JSON.parse(Buffer.from(body, 'latin1').toString()) as { error: { status: number } };
  return error.status === responses[0] ? undefined : 'has two different statuses';
}

describe('Hostile requests', () => {
  let key: string;
  const service = perSuite(() => startStandalone({ env: settings }));
  beforeAll(async () => {
    const created = await service.rms<{ key: string }>(
      ...['keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'hostile'],
    );
    key = created.key;
  });

  test(`${requests} requests: none gets a 5xx, and every response has an X-Request-ID`, async () => {
    const seed = Number(process.env.HOSTILE_SEED ?? Math.floor(Math.random() * 2 ** 32));
    const next = createMutator(seed, key);
    const statuses = new Map<string, number>();
    let sent = 0;
    const work = async () => {
      while (sent < requests) {
        sent += 1;
        const request = next();
        const text = await exchange(service.liveUrl, request);
        const problem = problemOf(text, request);
        if (problem !== undefined) {
          const shown = JSON.stringify(request.bytes.subarray(0, 2_000).toString('latin1'));
          throw new Error(`HOSTILE_SEED=${seed}: ${shown} ${problem}: ${JSON.stringify(text.slice(0, 1_000))}`);
        }
        const status = /^HTTP\/1\.1 ([2-5]\d\d)/m.exec(text)?.[1] ?? 'none';
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    // The mutations reach beyond the first check, and some requests stay valid.
    for (const status of ['200', '201', '400', '401', '404', '405', '413', '414', '415', '431']) {
      expect([seed, status, (statuses.get(status) ?? 0) > 0]).toEqual([seed, status, true]);
    }
    expect(statuses.get('none') ?? 0).toBeLessThan(requests / 5);
    expect((await fetch(`${service.liveUrl}/readyz`)).status).toBe(200);
    const errors = service
      .output()
      .split('\n')
      .filter((line) => line.includes('"level":"error"'));
    expect(errors.slice(0, 2)).toEqual([]);
  }, 300_000);
});
