import { EndpointQueues } from '../src/delivery/endpoint-queues.ts';
import type { DeliveryJob } from '../src/delivery/job.ts';

const job = (webhookId: string, id = '') => ({ webhookId, id }) as DeliveryJob;

describe('a queue for each endpoint', () => {
  test('so many are under way, so many wait, the rest is not taken', () => {
    const queues = new EndpointQueues({ inFlight: 2, queued: 1 });
    expect([1, 2, 3, 4].map(() => queues.offer(job('a')))).toEqual(['start', 'start', 'queued', 'full']);
    expect(queues.size).toBe(3);
  });

  test('one that is full holds up no other', () => {
    const queues = new EndpointQueues({ inFlight: 1, queued: 0 });
    expect(['a', 'a', 'b'].map((id) => queues.offer(job(id)))).toEqual(['start', 'full', 'start']);
  });

  test('what is finished makes room for what waits, in its order', () => {
    const queues = new EndpointQueues({ inFlight: 1, queued: 5 });
    for (const id of ['1', '2', '3']) queues.offer(job('a', id));
    expect(queues.finished('a').map(({ id }) => id)).toEqual(['2']);
    expect(queues.finished('a').map(({ id }) => id)).toEqual(['3']);
    expect(queues.finished('a')).toEqual([]);
    expect(queues.size).toBe(0);
    expect(queues.offer(job('a'))).toBe('start');
  });

  test('draining takes out what waits and leaves what is under way', () => {
    const queues = new EndpointQueues({ inFlight: 1, queued: 5 });
    for (const id of ['1', '2', '3']) queues.offer(job('a', id));
    expect(queues.drain().map(({ id }) => id)).toEqual(['2', '3']);
    expect(queues.size).toBe(1);
  });
});
