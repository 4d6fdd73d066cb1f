import { connect } from 'node:net';
import { type Standalone, startStandalone } from '@rms/testkit';
import { createMutator, type HostileRequest } from './request-mutator.ts';

const requests = 10_000;
const workers = 8;
const settings = { RATE_LIMIT_REQUESTS: '0', MONTHLY_QUOTA: '0', AUTH_FAILURE_LIMIT: '0' };

/** Sends on a connection of its own, and reads until the other side closes. */
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
    // Who is not whole might wait for an answer for ever: there, nothing more is to come.
    if (whole) socket.write(bytes);
    else socket.end(bytes);
  });
}

/** What is wrong with an answer; undefined: nothing. */
function problemOf(text: string, { whole, noBody }: HostileRequest): string | undefined {
  if (text === '') return whole ? 'has no answer' : undefined;
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) [^\r]*\r\n/g)].map(([, status]) => Number(status));
  const answers = statuses.filter((status) => status >= 200);
  if (answers.length === 0 && whole) return 'has no answer';
  if (answers.some((status) => status >= 500)) return 'is answered with 5xx';
  if ((text.match(/^X-Request-ID: \S{8,128}\r$/gm) ?? []).length !== answers.length) return 'lacks X-Request-ID';
  const [head = '', body = ''] = text.slice(text.search(/HTTP\/1\.1 [2-5]/)).split('\r\n\r\n');
  if (noBody || answers.length !== 1 || (answers[0] as number) < 400) return undefined;
  if (!/^Content-Type: application\/json/m.test(head)) return 'is refused in another form than JSON';
  const { error } = JSON.parse(Buffer.from(body, 'latin1').toString()) as { error: { status: number } };
  return error.status === answers[0] ? undefined : 'says two statuses';
}

describe('Requests that nobody should send', () => {
  let service: Standalone;
  let key: string;
  beforeAll(async () => {
    service = await startStandalone({ env: settings });
    const made = await service.rms<{ key: string }>(
      ...['keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'hostile'],
    );
    key = made.key;
  }, 120_000);
  afterAll(async () => {
    await service?.stop();
  }, 60_000);

  test(`${requests} of them: none is answered with 5xx, and every answer has an X-Request-ID`, async () => {
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
    // The mutations reach past the first check, and some are what they were.
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
