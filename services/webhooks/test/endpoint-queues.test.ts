import type { Outcome } from '../src/delivery/endpoint-queue.ts';
import { EndpointQueues } from '../src/delivery/endpoint-queues.ts';
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
    again: false,
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
const roomy = { inFlight: 2, inFlightOfWorkspace: 1_000, inFlightOfAll: 10_000, waiting: 1_000 };
/** Webhooks that can take nothing. */
const fullOf = (queues: EndpointQueues) =>
  [...queues.places().ofWebhooks].flatMap(([id, places]) => (places === 0 ? id : []));

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
  expect(fullOf(queues)).toEqual(['a']);
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
  expect(fullOf(queues)).toEqual([]);
});

test('says whether a webhook can take anything; one that was asked about in vain says when it can', () => {
  const queues = new EndpointQueues({ ...roomy, inFlight: 1 });
  expect(queues.canTake('a')).toBe(true);
  const jobs = Array.from({ length: 17 }, () => jobOf('a'));
  for (const job of jobs) queues.offer(job);
  expect(queues.canTake('a')).toBe(false);
  expect(queues.canTake('b')).toBe(true);
  const roomAgain = jobs.map((job) => queues.finished(job, quick).roomAgain);
  expect(roomAgain.filter(Boolean)).toHaveLength(1);
  expect(queues.canTake('a')).toBe(true);
});

test('one webhook cannot take all of the room', () => {
  const queues = new EndpointQueues({ ...roomy, inFlight: 32, waiting: 100 });
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
    const queues = newQueues(1);
    const jobs = Array.from({ length: 11 }, () => jobOf('a'));
    expect(jobs.map((job) => queues.offer(job))).toEqual(['start', ...Array(10).fill('queued')]);
    const nexts = jobs.slice(0, 10).map((job) => queues.finished(job, failing));
    expect(nexts.map(({ start }) => start)).toEqual([...jobs.slice(1, 10).map((job) => [job]), []]);
    expect(nexts.at(-1)?.giveBack).toEqual(jobs.slice(10));
    expect(queues.size).toBe(0);
    expect(queues.offer(jobOf('a'))).toBe('full');
    expect(fullOf(queues)).toEqual(['a']);
    expect(queues.canTake('a')).toBe(false);
    expect(queues.offer(jobOf('b'))).toBe('start');
  });

  test('makes no room by a probe that fails, so that nobody looks in vain; one that succeeds does', () => {
    const queues = newQueues();
    const last = jobOf('a');
    open(queues, last);
    queues.finished(last, failing);
    for (const [outcome, roomAgain] of [
      [failing, false],
      [quick, true],
    ] as const) {
      nowMs = queues.nextProbeAtMs() ?? 0;
      const probe = jobOf('a');
      expect(queues.offer(probe)).toBe('start');
      // A look that comes meanwhile passes it over.
      expect(fullOf(queues)).toEqual(['a']);
      expect(queues.finished(probe, outcome).roomAgain).toBe(roomAgain);
    }
  });

  test('gets one attempt once its pause is over; recovered, it gets more with each', () => {
    const queues = newQueues();
    const last = jobOf('a');
    open(queues, last);
    queues.finished(last, failing);
    const probeAtMs = queues.nextProbeAtMs() ?? 0;
    expect(probeAtMs).toBeGreaterThanOrEqual(250);
    expect(queues.places().ofWebhooks).toEqual(new Map([['a', 0]]));
    expect(queues.probes()).toEqual([]);
    nowMs = probeAtMs;
    expect(queues.probes()).toEqual(['a']);
    expect(queues.nextProbeAtMs()).toBeUndefined();
    // No more than it takes: what is leased beyond that is given back, at each probe.
    expect(queues.places().ofWebhooks).toEqual(new Map([['a', 1]]));
    expect(queues.canTake('a')).toBe(true);
    expect(fullOf(queues)).toEqual([]);
    const probe = jobOf('a');
    expect([probe, jobOf('a')].map((job) => queues.offer(job))).toEqual(['start', 'full']);
    expect(fullOf(queues)).toEqual(['a']);
    expect(queues.probes()).toEqual([]);
    queues.finished(probe, quick);
    expect(queues.probes()).toEqual([]);
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
    // A second, half as long at least.
    expect((queues.nextProbeAtMs() ?? 0) - nowMs).toBeGreaterThanOrEqual(500);
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
  const offerMany = (queues: EndpointQueues, workspaceId: string, webhooks: number, each: number) => {
    const jobs = Array.from({ length: webhooks * each }, (_, i) =>
      jobOf(`${workspaceId}/${i % webhooks}`, workspaceId),
    );
    const answers = jobs.map((job) => queues.offer(job));
    return { started: jobs.filter((_, i) => answers[i] === 'start'), taken: answers.filter((one) => one !== 'full') };
  };

  test('has a limit over all its webhooks; they take turns, and other workspaces are not held up', () => {
    const queues = new EndpointQueues({ ...roomy, inFlightOfWorkspace: 3 });
    const [a1, b1, c1] = [jobOf('a'), jobOf('b'), jobOf('c')];
    const [a2, b2, d1, e1] = [jobOf('a'), jobOf('b'), jobOf('d'), jobOf('e')];
    expect([a1, b1, c1].map((job) => queues.offer(job))).toEqual(['start', 'start', 'start']);
    expect([a2, b2, d1, e1].map((job) => queues.offer(job))).toEqual(['queued', 'queued', 'queued', 'queued']);
    expect(queues.offer(jobOf('z', 'ws_2'))).toBe('start');
    expect(queues.finished(c1, quick).start).toEqual([d1]);
    expect(queues.finished(d1, quick).start).toEqual([e1]);
    expect(queues.finished(a1, quick).start).toEqual([a2]);
    expect(queues.finished(b1, quick).start).toEqual([b2]);
  });

  test('has attempts left for one more webhook, however many of them take all that they can', () => {
    const queues = new EndpointQueues({ inFlight: 32, inFlightOfWorkspace: 512, inFlightOfAll: 2_560, waiting: 2_440 });
    const { started } = offerMany(queues, 'ws_1', 100, 20);
    expect(started.length).toBeGreaterThan(400);
    expect(queues.offer(jobOf('late', 'ws_1'))).toBe('start');
  });

  test('leaves attempts and room to one more workspace, however many of them take all that they can', () => {
    const limits = { inFlight: 32, inFlightOfWorkspace: 512, inFlightOfAll: 2_560, waiting: 2_440 };
    const queues = new EndpointQueues(limits);
    for (let i = 0; i < 20; i += 1) offerMany(queues, `ws_${i}`, 50, 20);
    expect(queues.size).toBeLessThan(limits.inFlightOfAll + limits.waiting);
    expect(queues.offer(jobOf('late', 'ws_late'))).toBe('start');
    expect(queues.offer(jobOf('late', 'ws_late'))).toBe('start');
  });

  test('gives half of its attempts at most to endpoints that fail', () => {
    const queues = new EndpointQueues({ ...roomy, inFlightOfWorkspace: 40 });
    const many = Array.from({ length: 60 }, (_, i) => `dead${i}`);
    for (const id of many) {
      const job = jobOf(id);
      queues.offer(job);
      queues.finished(job, failing);
    }
    const started = many.filter((id) => queues.offer(jobOf(id)) === 'start');
    expect(started).toHaveLength(20);
    expect(queues.offer(jobOf('healthy'))).toBe('start');
  });

  test('cannot take more than half of the room with however many webhooks', () => {
    const queues = new EndpointQueues({ inFlight: 32, inFlightOfWorkspace: 10, inFlightOfAll: 100, waiting: 1_000 });
    expect(offerMany(queues, 'ws_1', 1_000, 3).taken.length).toBeLessThanOrEqual(510);
    expect(queues.offer(jobOf('z', 'ws_2'))).toBe('start');
  });

  test('that has its share is passed over until half of it is free again', () => {
    const queues = new EndpointQueues({ inFlight: 1, inFlightOfWorkspace: 1, inFlightOfAll: 64, waiting: 16 });
    const first = jobOf('a0');
    expect(queues.offer(first)).toBe('start');
    const { taken } = offerMany(queues, 'ws_1', 40, 1);
    expect(taken).toHaveLength(8);
    expect(queues.places().fullWorkspaces).toEqual(['ws_1']);
    let job = first;
    const roomAgain: boolean[] = [];
    while (queues.size > 0) {
      const next = queues.finished(job, quick);
      roomAgain.push(next.roomAgain);
      job = next.start[0] as DeliveryJob;
    }
    // Seven, six, and then no more than half of what is left.
    expect(roomAgain.indexOf(true)).toBe(2);
    expect(queues.places().fullWorkspaces).toEqual([]);
  });
});

test('an endpoint of which nothing is known gets one attempt, if it comes with a retry', () => {
  const queues = new EndpointQueues({ ...roomy, inFlight: 8 });
  const [first, second] = [0, 1].map(() => ({ ...jobOf('a'), tries: 1 })) as [DeliveryJob, DeliveryJob];
  expect([first, second].map((job) => queues.offer(job))).toEqual(['start', 'full']);
  expect(queues.finished(first, quick).roomAgain).toBe(true);
  expect([jobOf('a'), jobOf('a'), jobOf('a')].map((job) => queues.offer(job))).toEqual(['start', 'start', 'queued']);
});
