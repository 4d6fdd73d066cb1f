import { RmsError } from '@rms/base/errors';
import { disposable, freePort, perTest, waitUntil } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('503 service_unavailable, 504 timeout, 409, 422 and 500', () => {
  const api = perTest(startGateway);

  test('without the resources service the API returns 503 with Retry-After, and webhooks still work', async () => {
    const key = api.auth.newKey('admin').value;
    await api.servers.resources.stop(0);
    for (const [method, path] of [
      ['GET', '/v1/resources'],
      ['POST', '/v1/resources'],
    ] as const) {
      const response = await api.send(method, path, { key, ...(method === 'POST' ? { json: { name: 'x' } } : {}) });
      expect(response.body).toEqual({
        error: { code: 'service_unavailable', message: expect.any(String), status: 503 },
      });
      expect(response.headers['retry-after']).toBe('1');
    }
    expect((await api.send('GET', '/v1/webhooks', { key })).status).toBe(200);
  });

  test('without auth unknown keys get 503, and cached keys still work', async () => {
    const [known, unknown] = [api.auth.newKey('admin').value, api.auth.newKey('admin').value];
    expect((await api.send('GET', '/v1/resources', { key: known })).status).toBe(200);
    await api.servers.auth.stop(0);
    expect((await api.send('GET', '/v1/resources', { key: unknown })).status).toBe(503);
    expect((await api.send('GET', '/v1/resources', { key: known })).status).toBe(200);
  });

  test('probes name failing dependencies; without auth the gateway is not ready but accepts calls', async () => {
    const port = await freePort();
    await using other = disposable(await startGateway({ env: { METRICS_ADDRESS: `127.0.0.1:${port}` } }));
    const probe = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return [response.status, ((await response.json()) as { failing?: string[] }).failing];
    };
    await other.servers.webhooks.stop(0);
    expect(await probe('/livez')).toEqual([200, undefined]);
    expect(await probe('/readyz')).toEqual([200, ['webhooks']]);
    await other.servers.auth.stop(0);
    expect(await probe('/readyz')).toEqual([503, ['auth', 'webhooks']]);
    expect(await probe('/readyz/calls')).toEqual([200, ['auth', 'webhooks']]);
  });

  test('a service that does not respond in time causes 504, and 503 for queued requests', async () => {
    await using impatient = disposable(await startGateway({ timeouts: { rpcMs: 5_000, healthMs: 60_000 } }));
    const { auth, resources } = impatient;
    const key = auth.newKey('admin').value;
    const missing = `/v1/resources/res_${'0'.repeat(26)}`;
    const get = () => impatient.send('GET', missing, { key });
    resources.before = (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    const sent = [get()];
    await waitUntil(() => resources.batches === 1, { what: 'the first batch' });
    sent.push(get());
    await waitUntil(() => resources.batches === 2, { what: 'the second batch' });
    const waiting = await get();
    expect([waiting.status, waiting.headers['retry-after']]).toEqual([503, '1']);
    for (const { status, body } of await Promise.all(sent)) expect([status, body.error.code]).toEqual([504, 'timeout']);
    resources.before = async () => {};
    expect((await get()).status).toBe(404);
  });

  test('an internal error is logged and returned as 500 without details', async () => {
    const key = api.auth.newKey('admin').value;
    api.resources.before = async () => {
      throw new Error('secret reason');
    };
    const response = await api.send('POST', '/v1/resources', { key, json: { name: 'x' } });
    expect([response.status, response.body.error.code]).toEqual([500, 'internal_error']);
    expect(response.text).not.toContain('secret reason');
    const requestId = response.headers['x-request-id'];
    expect(api.lines).toContainEqual(expect.objectContaining({ level: 'error', request_id: requestId }));
  });

  test.each([
    [409, 'conflict'],
    [422, 'idempotency_key_reused'],
    [503, 'service_unavailable'],
  ] as const)('the error of a batch item becomes the error of its request: %i %s', async (status, code) => {
    const key = api.auth.newKey('admin').value;
    api.resources.itemError = new RmsError(code);
    const headers = { 'Idempotency-Key': 'k' };
    const response = await api.send('POST', '/v1/resources', { key, json: { name: 'x' }, headers });
    expect([response.status, response.body.error.code]).toEqual([status, code]);
  });

  test('a read is canceled when its client disconnects, a write is not', async () => {
    const key = api.auth.newKey('admin').value;
    const canceled: boolean[] = [];
    let release = () => {};
    api.resources.before = (signal) =>
      new Promise((resolve) => {
        release = resolve;
        signal.addEventListener('abort', () => {
          canceled.push(true);
          resolve();
        });
      });
    const read = new AbortController();
    const reading = api.send('GET', '/v1/resources', { key, signal: read.signal });
    await waitUntil(() => api.resources.batches === 1, { what: 'the read' });
    read.abort();
    await expect(reading).rejects.toThrow('aborted');
    await waitUntil(() => canceled.length === 1, { what: 'the canceled read' });

    const write = new AbortController();
    const writing = api.send('POST', '/v1/resources', { key, json: { name: 'kept' }, signal: write.signal });
    await waitUntil(() => api.resources.batches === 2, { what: 'the write' });
    write.abort();
    await expect(writing).rejects.toThrow('aborted');
    release();
    await waitUntil(() => api.resources.created.some(({ name }) => name === 'kept'), { what: 'the kept write' });
  });
});
