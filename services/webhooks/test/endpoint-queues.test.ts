import { EndpointQueues } from '../src/delivery/endpoint-queues.ts';
import { defaultRetryPolicy } from '../src/delivery/retry-policy.ts';

let made = 0;

function jobOf(webhookId: string) {
  made += 1;
  return {
    workspaceId: 'ws_1',
    environment: 'live' as const,
    id: `dlv_${made}`,
    eventId: 'evt_1',
    requestId: 'req_1',
    traceparent: '',
    body: Buffer.alloc(10),
    webhookId,
    url: 'https://example.com',
    secretSealed: Buffer.alloc(0),
    secretVersion: 1,
    retryPolicy: defaultRetryPolicy,
    tries: 0,
    lease: 1,
    leasedAtMs: 0,
  };
}

const quickMs = 5;
const slowMs = 10_000;

test('attempts of one webhook beyond its limit wait, and start as others finish', () => {
  const queues = new EndpointQueues({ inFlight: 2, jobs: 1_000 });
  const [first, second, third] = [jobOf('a'), jobOf('a'), jobOf('a')];
  expect([first, second, third].map((job) => queues.offer(job))).toEqual(['start', 'start', 'queued']);
  expect(queues.offer(jobOf('b'))).toBe('start');
  expect(queues.finished(first, quickMs).start).toEqual([third]);
  expect(queues.finished(second, quickMs).start).toEqual([]);
  expect(queues.size).toBe(2);
  expect(queues.bytes).toBe(20);
});

test('a full queue takes no more, is passed over, and says when there is room again', () => {
  const queues = new EndpointQueues({ inFlight: 1, jobs: 1_000 });
  const first = jobOf('a');
  queues.offer(first);
  for (let i = 0; i < 16; i += 1) expect(queues.offer(jobOf('a'))).toBe('queued');
  expect(queues.offer(jobOf('a'))).toBe('full');
  expect(queues.full()).toEqual(['a']);
  let job = first;
  const roomAgain: boolean[] = [];
  for (let i = 0; i < 16; i += 1) {
    const next = queues.finished(job, quickMs);
    roomAgain.push(next.roomAgain);
    job = next.start[0] as typeof job;
  }
  // Once: when a quarter is left.
  expect(roomAgain.filter(Boolean)).toHaveLength(1);
  expect(roomAgain.indexOf(true)).toBe(11);
  expect(queues.full()).toEqual([]);
});

test('one webhook cannot take all of the room', () => {
  const queues = new EndpointQueues({ inFlight: 32, jobs: 100 });
  const taken = Array.from({ length: 100 }, () => queues.offer(jobOf('a'))).filter((answer) => answer !== 'full');
  expect(taken.length).toBeLessThan(50);
  expect(queues.offer(jobOf('b'))).toBe('start');
});

test('slow answers halve the limit of a webhook down to one, quick ones raise it by one', () => {
  const queues = new EndpointQueues({ inFlight: 4, jobs: 1_000 });
  const atOnce = () => {
    const jobs = Array.from({ length: 6 }, () => jobOf('a'));
    const started = jobs.filter((job) => queues.offer(job) === 'start');
    queues.drain();
    return started;
  };
  const finish = (jobs: ReturnType<typeof jobOf>[], durationMs: number) => {
    for (const job of jobs) queues.finished(job, durationMs);
  };
  const first = atOnce();
  expect(first).toHaveLength(4);
  finish(first, slowMs);
  // Remembered though nothing was under way in between.
  const second = atOnce();
  expect(second).toHaveLength(1);
  finish(second, quickMs);
  const third = atOnce();
  expect(third).toHaveLength(2);
  finish(third, quickMs);
  expect(atOnce()).toHaveLength(4);
});
