import { Endpoint, jittered, type Outcome } from '../../src/engine/schedule/endpoint.ts';
import { limits } from '../../src/engine/schedule/limits.ts';

const arrived: Outcome = { durationMs: 5, health: 'arrived' };
const rejected: Outcome = { durationMs: 5, health: 'rejected' };
const failing: Outcome = { durationMs: 5, health: 'failing' };
const slow: Outcome = { durationMs: 10_000, health: 'arrived' };
const notAttempted: Outcome = { durationMs: 0, health: 'not attempted' };

/** Makes attempts one after another. Returns the last change of the shared state. */
function attempt(endpoint: Endpoint, outcome: Outcome, times = 1) {
  let last: ReturnType<Endpoint['finish']>;
  for (let i = 0; i < times; i += 1) {
    endpoint.start('dlv_1');
    last = endpoint.finish('dlv_1', outcome);
  }
  return last;
}

describe('the circuit of an endpoint', () => {
  test('opens at the tenth consecutive failure', () => {
    const endpoint = new Endpoint(limits);
    attempt(endpoint, failing, 9);
    expect(endpoint.isOpen).toBe(false);
    expect(attempt(endpoint, failing)).toEqual({ pauseMs: 500, concurrency: 1, pauses: true });
    expect([endpoint.isOpen, endpoint.free]).toEqual([true, 1]);
  });

  test('a response that is not a failure resets the count', () => {
    for (const outcome of [arrived, rejected]) {
      const endpoint = new Endpoint(limits);
      attempt(endpoint, failing, 9);
      attempt(endpoint, outcome);
      attempt(endpoint, failing, 9);
      expect(endpoint.isOpen).toBe(false);
    }
  });

  test('each failed probe doubles the pause, up to ten seconds; a successful one closes the circuit', () => {
    const endpoint = new Endpoint(limits);
    attempt(endpoint, failing, 10);
    const pauses = Array.from({ length: 6 }, () => attempt(endpoint, failing));
    expect(pauses.map((change) => change?.pauseMs)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(pauses.every((change) => change?.pauses)).toBe(true);
    expect(attempt(endpoint, arrived)).toMatchObject({ pauseMs: 0, pauses: false });
    expect(endpoint.isOpen).toBe(false);
    expect(attempt(endpoint, failing, 10)).toMatchObject({ pauseMs: 500, pauses: true });
  });

  test('failures of attempts that were in flight when it opened have no effect; a success closes it', () => {
    const endpoint = new Endpoint(limits);
    for (let i = 0; i < 20; i += 1) endpoint.start(`dlv_${i}`);
    const changes = Array.from({ length: 19 }, (_, i) => endpoint.finish(`dlv_${i}`, failing));
    expect(changes.filter((change) => change?.pauses)).toEqual([{ pauseMs: 500, concurrency: 1, pauses: true }]);
    expect(endpoint.finish('dlv_19', arrived)).toMatchObject({ pauseMs: 0 });
  });

  test('opens at the first failure of an endpoint that had failed before, until an attempt succeeds', () => {
    const endpoint = new Endpoint(limits);
    endpoint.refresh({ pauseMs: 0, concurrency: 1 });
    expect(attempt(endpoint, failing)).toEqual({ pauseMs: 500, concurrency: 1, pauses: true });
    expect(attempt(endpoint, failing)).toMatchObject({ pauseMs: 1_000 });
    attempt(endpoint, arrived);
    expect(attempt(endpoint, failing, 9)?.pauses).not.toBe(true);
    expect(attempt(endpoint, failing)).toMatchObject({ pauseMs: 500, pauses: true });
  });

  test('takes the state of other instances over', () => {
    const endpoint = new Endpoint(limits);
    endpoint.refresh({ pauseMs: 4_000, concurrency: 1 });
    expect([endpoint.free, endpoint.failing]).toEqual([1, true]);
    expect(attempt(endpoint, failing)).toEqual({ pauseMs: 8_000, concurrency: 1, pauses: true });
    endpoint.refresh({ pauseMs: 0, concurrency: undefined });
    expect(endpoint.isOpen).toBe(false);
  });

  test('a probe that was not attempted changes nothing', () => {
    const endpoint = new Endpoint(limits);
    attempt(endpoint, failing, 10);
    expect(attempt(endpoint, notAttempted)).toBeUndefined();
    expect(endpoint.isOpen).toBe(true);
  });

  test('the pause has 50% jitter, so that endpoints that failed together are not probed together', () => {
    expect([0, 0.5, 1].map((random) => jittered(500, limits.jitter, random))).toEqual([250, 500, 750]);
  });
});

describe('the concurrency limit of an endpoint', () => {
  test('is halved by a slow or failed attempt, down to 1, and raised by 1 by a fast one', () => {
    const endpoint = new Endpoint(limits);
    const free: number[] = [];
    for (const outcome of [slow, failing, slow, slow, slow, slow, arrived, rejected]) {
      attempt(endpoint, outcome);
      free.push(endpoint.free);
    }
    expect(free).toEqual([16, 8, 4, 2, 1, 1, 2, 3]);
    attempt(endpoint, arrived, 40);
    expect([endpoint.free, endpoint.isNotable]).toEqual([32, false]);
  });

  test('is shared as 1 from the first slow or failed attempt until the endpoint has recovered', () => {
    const endpoint = new Endpoint(limits, 4);
    expect(attempt(endpoint, slow)).toEqual({ pauseMs: 0, concurrency: 1, pauses: false });
    expect(attempt(endpoint, slow, 2)).toBeUndefined();
    expect(attempt(endpoint, arrived, 2)).toBeUndefined();
    expect(attempt(endpoint, arrived)).toEqual({ pauseMs: 0, concurrency: undefined, pauses: false });
  });

  test('begins with the stored limit, and rises although the stored limit stays until the endpoint has recovered', () => {
    const endpoint = new Endpoint(limits, 4);
    const stored = { pauseMs: 0, concurrency: 1 };
    const free: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      endpoint.refresh(stored);
      free.push(endpoint.free);
      expect(endpoint.isNotable).toBe(true);
      const change = attempt(endpoint, arrived);
      expect(change).toEqual(i === 2 ? { pauseMs: 0, concurrency: undefined, pauses: false } : undefined);
    }
    expect([free, endpoint.free]).toEqual([[1, 2, 3], 4]);
  });

  test('follows the maximum of the webhook', () => {
    const endpoint = new Endpoint(limits, 8);
    endpoint.most = 2;
    expect(endpoint.free).toBe(2);
    endpoint.most = 10;
    expect(endpoint.free).toBe(10);
    attempt(endpoint, slow);
    endpoint.most = 20;
    expect(endpoint.free).toBe(5);
  });
});
