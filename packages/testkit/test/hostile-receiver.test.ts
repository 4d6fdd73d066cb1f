import { createHmac } from 'node:crypto';
import { perSuite, startHostileReceiver } from '../src/index.ts';

describe('startHostileReceiver', () => {
  const receiver = perSuite(startHostileReceiver);

  const post = (path: string, id: string, signature = '') =>
    fetch(receiver.url(path), {
      method: 'POST',
      body: '{"ü":1}',
      headers: { 'webhook-id': id, 'x-service-signature': signature },
    });

  test('responds with 200 or the configured response, and rejects the configured events', async () => {
    expect((await post('/a', 'evt_1')).status).toBe(200);
    const refused = { eventIds: ['evt_2'], status: 400 };
    await receiver.behave('/a', { kind: 'respond', status: 200, headers: { 'x-thing': 'blue' }, body: 'yes', refused });
    const response = await post('/a', 'evt_1');
    expect([response.status, response.headers.get('x-thing'), await response.text()]).toEqual([200, 'blue', 'yes']);
    expect((await post('/a', 'evt_2')).status).toBe(400);
  });

  test('reports whether a request was signed with the secret of its path', async () => {
    await receiver.expectSecret('/signed', 'whsec_1');
    await post('/signed', 'evt_1', createHmac('sha256', 'whsec_1').update('{"ü":1}').digest('hex'));
    await post('/signed', 'evt_2', 'no signature');
    await post('/unsigned', 'evt_3');
    const verified = [...receiver.requests('/signed'), ...receiver.requests('/unsigned')].map((one) => one.verified);
    expect(verified).toEqual([true, false, undefined]);
  });

  test('keeps records and behaviors across a kill', async () => {
    await receiver.behave('/b', { kind: 'silent' });
    const hanging = post('/b', 'evt_1').catch((error: Error) => error);
    await post('/c', 'evt_2');
    while (receiver.requests('/b').length === 0) await post('/c', 'evt_2');
    const { pid } = receiver;
    await receiver.kill();
    expect(await hanging).toBeInstanceOf(Error);
    await receiver.behave('/b', { kind: 'respond', status: 503 });
    await receiver.restart();
    expect(receiver.pid).not.toBe(pid);
    expect((await post('/b', 'evt_1')).status).toBe(503);
    expect(receiver.requests('/b').map(({ eventId }) => eventId)).toEqual(['evt_1', 'evt_1']);
    expect(receiver.records().filter(({ kind }) => kind === 'start')).toHaveLength(2);
    const responded = receiver.records().flatMap((record) => (record.kind === 'responded' ? record.eventId : []));
    expect(responded).toContain('evt_2');
  });
});
