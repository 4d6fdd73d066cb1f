import { EndpointQueues, type Outcome } from '../src/delivery/endpoint-queues.ts';
import type { DeliveryJob } from '../src/delivery/job.ts';
import { defaultRetryPolicy } from '../src/delivery/retry-policy.ts';

let made = 0;

function jobOf(webhookId: string, workspaceId = 'ws_1'): DeliveryJob {
  made += 1;
  return {
    workspaceId,
    environment: 'live' as const,
    id: `dlv_${made}`,
    eventId: 'evt_1',
    requestId: 'req_1',
    traceparent: '',
    body: Buffer.alloc(10),
    webhookId,
    resourceId: 'res_1',
    ordered: false,
    endpoint: {
      url: 'https://example.com',
      secretSealed: Buffer.alloc(0),
      secretVersion: 1,
      previousSecretSealed: undefined,
      previousSecretUntil: undefined,
      clientCertificate: undefined,
      clientKeySealed: undefined,
      retryPolicy: defaultRetryPolicy,
    },
    tries: 0,
    lease: 1,
    leasedAtMs: 0,
  };
}

const quick: Outcome = { durationMs: 5, health: 'arrived' };
const slow: Outcome = { durationMs: 10_000, health: 'arrived' };
const failing: Outcome = { durationMs: 5, health: 'failing' };
const roomy = { inFlight: 2, inFlightOfWorkspace: 1_000, jobs: 1_000 };

test('attempts of one webhook beyond its limit wait, and start as others finish', () => {
  const queues = new EndpointQueues(roomy);
  const [first, second, third] = [jobOf('a'), jobOf('a'), jobOf('a')];
  expect([first, second, third].map((job) => queues.offer(job))).toEqual(['start', 'start', 'queued']);
  expect(queues.offer(jobOf('b'))).toBe('start');
  expect(queues.finished(first, quick).start).toEqual([third]);
  expect(queues.finished(second, quick).start).toEqual([]);
  expect(queues.size).toBe(2);
  expect(queues.bytes).toBe(20);
});

test('a full queue takes no more, is passed over, and says when there is room again', () => {
  const queues = new EndpointQueues({ ...roomy, inFlight: 1 });
  const first = jobOf('a');
  queues.offer(first);
  for (let i = 0; i < 16; i += 1) expect(queues.offer(jobOf('a'))).toBe('queued');
  expect(queues.offer(jobOf('a'))).toBe('full');
  expect(queues.full()).toEqual(['a']);
  let job = first;
  const roomAgain: boolean[] = [];
  for (let i = 0; i < 16; i += 1) {
    const next = queues.finished(job, quick);
    roomAgain.push(next.roomAgain);
    job = next.start[0] as DeliveryJob;
  }
  // Once: when a quarter is left.
  expect(roomAgain.filter(Boolean)).toHaveLength(1);
  expect(roomAgain.indexOf(true)).toBe(11);
  expect(queues.full()).toEqual([]);
});

test('one webhook cannot take all of the room', () => {
  const queues = new EndpointQueues({ ...roomy, inFlight: 32, jobs: 100 });
  const taken = Array.from({ length: 100 }, () => queues.offer(jobOf('a'))).filter((answer) => answer !== 'full');
  expect(taken.length).toBeLessThan(50);
  expect(queues.offer(jobOf('b'))).toBe('start');
});

test('slow answers halve the limit of a webhook down to one, quick ones raise it by one', () => {
  const queues = new EndpointQueues({ ...roomy, inFlight: 4 });
  const atOnce = () => {
    const jobs = Array.from({ length: 6 }, () => jobOf('a'));
    const started = jobs.filter((job) => queues.offer(job) === 'start');
    queues.drain();
    return started;
  };
  const finish = (jobs: DeliveryJob[], outcome: Outcome) => {
    for (const job of jobs) queues.finished(job, outcome);
  };
  const first = atOnce();
  expect(first).toHaveLength(4);
  finish(first, slow);
  // Remembered though nothing was under way in between.
  const second = atOnce();
  expect(second).toHaveLength(1);
  finish(second, quick);
  const third = atOnce();
  expect(third).toHaveLength(2);
  finish(third, quick);
  expect(atOnce()).toHaveLength(4);
});

describe('a failing webhook', () => {
  let nowMs = 0;
  const newQueues = (inFlight = 4) => {
    nowMs = 0;
    return new EndpointQueues({ ...roomy, inFlight }, () => nowMs);
  };
  /** Ten failures, one at a time; answers with what the last one led to. */
  const open = (queues: EndpointQueues, last = jobOf('a')) => {
    for (let i = 0; i < 9; i += 1) {
      const job = jobOf('a');
      expect(queues.offer(job)).toBe('start');
      queues.finished(job, failing);
    }
    expect(queues.offer(last)).toBe('start');
    return queues;
  };

  test('is left alone after ten failures; what waits is given back, and what comes is not taken', () => {
    const queues = newQueues();
    const last = jobOf('a');
    open(queues, last);
    const waiting = jobOf('a');
    expect(queues.offer(waiting)).toBe('queued');
    expect(queues.finished(last, failing)).toMatchObject({ start: [], giveBack: [waiting] });
    expect(queues.size).toBe(0);
    expect(queues.offer(jobOf('a'))).toBe('full');
    expect(queues.full()).toEqual(['a']);
    expect(queues.offer(jobOf('b'))).toBe('start');
  });

  test('gets one attempt once its pause is over; recovered, it gets more with each', () => {
    const queues = newQueues();
    const last = jobOf('a');
    open(queues, last);
    queues.finished(last, failing);
    const probeAtMs = queues.nextProbeAtMs() ?? 0;
    expect(probeAtMs).toBeGreaterThanOrEqual(400);
    nowMs = probeAtMs;
    expect(queues.nextProbeAtMs()).toBeUndefined();
    expect(queues.full()).toEqual([]);
    const probe = jobOf('a');
    expect([probe, jobOf('a')].map((job) => queues.offer(job))).toEqual(['start', 'full']);
    expect(queues.full()).toEqual(['a']);
    queues.finished(probe, quick);
    const jobs = Array.from({ length: 9 }, () => jobOf('a'));
    const atOnce = jobs.filter((job) => queues.offer(job) === 'start');
    // Failures have left it one attempt at a time; the probe has earned another.
    expect(atOnce).toHaveLength(2);
    expect(queues.finished(atOnce[0] as DeliveryJob, quick).start).toHaveLength(2);
  });

  test('a probe that fails makes the pause longer', () => {
    const queues = newQueues();
    const last = jobOf('a');
    open(queues, last);
    queues.finished(last, failing);
    nowMs = queues.nextProbeAtMs() ?? 0;
    const probe = jobOf('a');
    queues.offer(probe);
    queues.finished(probe, failing);
    expect((queues.nextProbeAtMs() ?? 0) - nowMs).toBeGreaterThanOrEqual(800);
  });

  test('an endpoint that refuses is there: its circuit stays closed', () => {
    const queues = newQueues();
    for (let i = 0; i < 30; i += 1) {
      const job = jobOf('a');
      expect(queues.offer(job)).toBe('start');
      queues.finished(job, { durationMs: 5, health: 'refused' });
    }
  });
});

describe('a workspace', () => {
  test('has a limit over all its webhooks; they take turns, and other workspaces are not held up', () => {
    const queues = new EndpointQueues({ ...roomy, inFlightOfWorkspace: 3 });
    const [a1, a2, b1] = [jobOf('a'), jobOf('a'), jobOf('b')];
    const [b2, c1] = [jobOf('b'), jobOf('c')];
    expect([a1, a2, b1].map((job) => queues.offer(job))).toEqual(['start', 'start', 'start']);
    expect([b2, c1].map((job) => queues.offer(job))).toEqual(['queued', 'queued']);
    expect(queues.offer(jobOf('z', 'ws_2'))).toBe('start');
    expect(queues.finished(a1, quick).start).toEqual([b2]);
    expect(queues.finished(a2, quick).start).toEqual([c1]);
    expect(queues.finished(b1, quick).start).toEqual([]);
  });

  test('cannot take more than half of the room with however many webhooks', () => {
    const queues = new EndpointQueues({ inFlight: 32, inFlightOfWorkspace: 10, jobs: 100 });
    const taken = Array.from({ length: 300 }, (_, i) => queues.offer(jobOf(`a${i}`))).filter((one) => one !== 'full');
    expect(taken).toHaveLength(50);
    expect(queues.offer(jobOf('z', 'ws_2'))).toBe('start');
  });

  test('that has its share is passed over with all that it was refused, until half of it is free again', () => {
    const queues = new EndpointQueues({ inFlight: 32, inFlightOfWorkspace: 4, jobs: 16 });
    const taken = Array.from({ length: 8 }, (_, i) => jobOf(`a${i}`));
    const answers = taken.map((job) => queues.offer(job));
    expect(answers).toEqual(['start', 'start', 'start', 'start', 'queued', 'queued', 'queued', 'queued']);
    expect(queues.offer(jobOf('late'))).toBe('full');
    expect(queues.full()).toContain('late');
    expect(queues.full()).not.toContain('z');
    const roomAgain = taken.map((job) => queues.finished(job, quick).roomAgain);
    expect(roomAgain.filter(Boolean)).toHaveLength(1);
    expect(roomAgain.indexOf(true)).toBe(3);
    expect(queues.full()).toEqual([]);
    expect(queues.offer(jobOf('late'))).toBe('start');
  });
});
