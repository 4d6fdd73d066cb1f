import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createEgress, createGuardedAgent } from '@rms/net/guarded-http';
import { errorClassOf } from '../../src/engine/attempt/error-class.ts';
import type { DeliveryJob } from '../../src/engine/attempt/job.ts';
import { healthOf, settle } from '../../src/engine/attempt.ts';
import { toLoggedAttempt } from '../../src/engine/record/logged-attempt.ts';
import { defaultRetryPolicy } from '../../src/webhook/retry-policy.ts';
import { soleAttemptAt } from '../attempt-at.ts';

describe('the record of a response', () => {
  let server: Server;
  let respond: (socket: Socket) => void;
  beforeAll(async () => {
    server = createServer((socket) => {
      let text = '';
      socket.on('error', () => {});
      socket.on('data', (chunk) => {
        text += chunk;
        if (text.endsWith('{}')) respond(socket);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => void server?.close());

  /** Sends a request, and returns the result for a receiver that sends these bytes and then ends or resets. */
  const attempt = (response: string | Buffer, end: 'end' | 'reset' = 'end') => {
    respond = (socket) => {
      socket.write(Buffer.from(response as string, 'latin1'), () => {
        if (end === 'end') socket.end();
        else setImmediate(() => socket.resetAndDestroy());
      });
    };
    const agent = createGuardedAgent({ egress: createEgress({ allowHttp: true, allowCidrs: ['127.0.0.0/8'] }) });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    return soleAttemptAt(url, agent);
  };
  const broken = expect.stringMatching(/^connection: /);
  const job = { endpoint: { retryPolicy: defaultRetryPolicy }, tries: 0 } as DeliveryJob;

  test.each([
    ['its body ends early', 'HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 9\r\n\r\nhalf', 'end', 200, 'half'],
    ['its body is reset', 'HTTP/1.1 503 No\r\nx-a: 1\r\ncontent-length: 9\r\n\r\nhalf', 'reset', 503, 'half'],
    ['its chunks are invalid', 'HTTP/1.1 200 OK\r\nx-a: 1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 'end', 200, ''],
    [
      'it has two lengths',
      'HTTP/1.1 200 OK\r\nx-a: 1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      'end',
      200,
      'ab',
    ],
    ['its head is incomplete', 'HTTP/1.1 500 No\r\nx-a: 1\r\nx-b: par', 'end', 500, ''],
    ['its head is reset', 'HTTP/1.1 500 No\r\nx-a: 1\r\n', 'reset', 500, ''],
    ['it follows hints', 'HTTP/1.1 103 Hints\r\nlink: <a>\r\n\r\nHTTP/1.1 500 No\r\nx-a: 1\r\n', 'end', 500, ''],
  ] as const)('has the head although %s', async (_, bytes, end, statusCode, body) => {
    const result = await attempt(bytes, end);
    expect(result).toMatchObject({ statusCode, error: broken });
    expect(result.responseHeaders).toContainEqual(['x-a', '1']);
    if (bytes.endsWith('par')) expect(result.responseHeaders).toContainEqual(['x-b', 'par']);
    expect(result.responseBody.toString()).toBe(body);
    expect(toLoggedAttempt(result)).toMatchObject({
      status_code: statusCode,
      response_headers: result.responseHeaders,
    });
    expect(settle(job, result)).toEqual({ status: 'pending', dueInMs: expect.any(Number) });
    expect([healthOf(result), errorClassOf(result)]).toEqual(['failing', 'connection']);
  });

  test('has the bytes of a response that is not HTTP', async () => {
    const result = await attempt('SSH-2.0-nonsense\r\n');
    expect(result).toMatchObject({ statusCode: 0, error: broken, responseHeaders: [] });
    expect(result.responseBody.toString()).toBe('SSH-2.0-nonsense\r\n');
  });

  test('has the whole head, even if it is larger than the HTTP parser accepts', async () => {
    const many = Array.from({ length: 200 }, (_, i) => `x-${i}: ${'v'.repeat(50)}\r\n`).join('');
    const { responseHeaders } = await attempt(`HTTP/1.1 200 OK\r\n${many}x-long: ${'l'.repeat(3_000)}\r\n\r\n`);
    expect(responseHeaders).toHaveLength(201);
    expect(responseHeaders.at(-1)).toEqual(['x-long', 'l'.repeat(3_000)]);
    const tooLarge = await attempt(`HTTP/1.1 200 OK\r\nx-a: 1\r\nx-long: ${'l'.repeat(100_000)}\r\n\r\n`);
    expect(tooLarge).toMatchObject({ statusCode: 200, error: broken });
    const [, [name, value] = ['', '']] = tooLarge.responseHeaders;
    expect([name, value.length > 16_000]).toEqual(['x-long', true]);
  });

  test('a 410 that is incomplete does not disable the webhook', async () => {
    expect(settle(job, await attempt('HTTP/1.1 410 Gone\r\ncontent-length: 9\r\n\r\nhalf')).status).toBe('pending');
    expect(settle(job, await attempt('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n'))).toMatchObject({
      status: 'failed',
      endReason: 'endpoint_gone',
    });
  });

  test('has fields without the white space around them, in the order of arrival, also if they are repeated', async () => {
    const { responseHeaders } = await attempt(
      'HTTP/1.1 200 OK\r\nX-A:one\r\nx-b: \t two \t \r\nX-a: three\r\nx-c:\r\ncontent-length: 0\r\n\r\n',
    );
    expect(responseHeaders).toEqual([
      ['x-a', 'one'],
      ['x-b', 'two'],
      ['x-a', 'three'],
      ['x-c', ''],
      ['content-length', '0'],
    ]);
  });

  test('shows UTF-8 as UTF-8, and other bytes as ISO-8859-1', async () => {
    const utf8 = Buffer.from('Grüße 世界 🌍').toString('latin1');
    const { responseHeaders } = await attempt(
      `HTTP/1.1 200 OK\r\nx-utf8: ${utf8}\r\nx-latin: Gr\xfc\xdfe\r\ncontent-disposition: ${utf8}\r\ncontent-length: 0\r\n\r\n`,
    );
    expect(responseHeaders.slice(0, 3)).toEqual([
      ['x-utf8', 'Grüße 世界 🌍'],
      ['x-latin', 'Grüße'],
      ['content-disposition', 'Grüße 世界 🌍'],
    ]);
  });

  test.each([201, 202, 204, 206])('of status %i says that only 200 counts as delivered', async (status) => {
    const result = await attempt(`HTTP/1.1 ${status} Fine\r\n${status === 204 ? '' : 'content-length: 0\r\n'}\r\n`);
    expect(result).toMatchObject({ statusCode: status, error: `status: ${status}; only 200 counts as delivered` });
    expect([settle(job, result).status, errorClassOf(result)]).toEqual(['pending', '2xx']);
  });

  test.each([
    ['seconds', '120 \t', 120_000],
    ['a date', 'Sun, 06 Nov 1994 08:51:37 GMT', 120_000],
    ['a date of RFC 850', 'Sunday, 06-Nov-94 08:51:37 GMT', 120_000],
    ['a date of asctime', 'Sun Nov  6 08:51:37 1994', 120_000],
    ['the same line twice', '120\r\nRetry-After: 120', 120_000],
    ['two different lines', '120\r\nRetry-After: 60', undefined],
    ['an ISO date', '1994-11-06T08:51:37Z', undefined],
  ])('Retry-After: %s', async (_, retryAfter, ms) => {
    const date = 'Date: Sunday, 06-Nov-94 08:49:37 GMT';
    const head = `HTTP/1.1 503 Busy\r\n${date}\r\nRetry-After: ${retryAfter}\r\n`;
    expect(await attempt(`${head}content-length: 0\r\n\r\n`)).toMatchObject({ statusCode: 503, retryAfterMs: ms });
    expect(await attempt(`${head}content-length: 9\r\n\r\nhalf`)).toMatchObject({ error: broken, retryAfterMs: ms });
  });
});
