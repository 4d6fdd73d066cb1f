import { type Receiver, startReceiver } from '../src/index.ts';

describe('startReceiver', () => {
  let receiver: Receiver;
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const post = (body: string | Uint8Array<ArrayBuffer>, signal?: AbortSignal) =>
    fetch(receiver.url, { method: 'POST', body, headers: { 'X-Thing': 'blue' }, ...(signal ? { signal } : {}) });

  test('keeps requests in order, with headers and the exact bytes', async () => {
    const bytes = new Uint8Array([0xc3, 0xbc, 0x00, 0xff]);
    await post(bytes);
    await post('{"name":"ü"}');
    expect(receiver.requests.map(({ body }) => body)).toEqual([Buffer.from(bytes), Buffer.from('{"name":"ü"}')]);
    expect(receiver.requests.map(({ json }) => json)).toEqual([undefined, { name: 'ü' }]);
    expect(receiver.requests[0]).toMatchObject({ method: 'POST', path: '/hook', headers: { 'x-thing': 'blue' } });
  });

  test('responds with 200 or the configured response', async () => {
    expect((await post('1')).status).toBe(200);
    receiver.respondWith(503);
    expect((await post('2')).status).toBe(503);
    receiver.respondWith((request, response) => {
      response.writeHead(429, { 'Retry-After': '7' }).end(`not now: ${request.body}`);
    });
    const response = await post('3');
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([
      429,
      '7',
      'not now: 3',
    ]);
  });

  test('closes even while a request hangs', async () => {
    receiver.respondWith(() => {});
    const hanging = post('4').catch((error: Error) => error);
    await receiver.waitFor(({ json }) => json === 4, 'the request');
    await receiver.close();
    expect(await hanging).toBeInstanceOf(Error);
    receiver = await startReceiver();
  });

  test('waits for a later request, and names the awaited request in the error', async () => {
    const waiting = receiver.waitFor(({ json }) => json === 'late', 'the late one');
    await post('"early"');
    await post('"late"');
    expect((await waiting).json).toBe('late');
    await expect(receiver.waitFor(() => false, 'a request that never arrives', 50)).rejects.toThrow(
      'waiting for a request that never arrives',
    );
  });
});
