import fc from 'fast-check';
import type { Attempt, EndpointRef } from '../../src/engine/schedule/entries.ts';
import { limits as allLimits, partOfLimit } from '../../src/engine/schedule/limits.ts';
import { Scheduler } from '../../src/engine/schedule/scheduler.ts';
import { leaseMs, limits, refs, schedulers, World } from './scheduler-world.ts';

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}

function expectWithinLimits({ inFlight }: World): void {
  const most = (keyOf: (attempt: (typeof inFlight)[number]) => string) =>
    Math.max(0, ...countBy(inFlight, keyOf).values());
  expect(inFlight.length).toBeLessThanOrEqual(limits.attempts);
  expect(most(({ endpoint }) => endpoint.workspaceId)).toBeLessThanOrEqual(limits.attemptsOfWorkspace);
  expect(most(({ endpoint }) => endpoint.webhookId)).toBeLessThanOrEqual(limits.attemptsOfWebhook);
  const probes = inFlight.filter(({ wasOpen }) => wasOpen);
  expect(Math.max(0, ...countBy(probes, ({ endpoint }) => endpoint.webhookId).values())).toBeLessThanOrEqual(1);
}

const action = fc.oneof(
  fc.record({ kind: fc.constant('publish' as const), webhook: fc.nat(5), count: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ kind: fc.constant('fresh' as const), webhook: fc.nat(5) }),
  fc.record({ kind: fc.constant('offer fresh' as const) }),
  fc.record({ kind: fc.constant('poll' as const) }),
  fc.record({ kind: fc.constant('begin refill' as const) }),
  fc.record({ kind: fc.constant('end refill' as const) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(10, 500, 3_000, 25_000) }),
  fc.record({
    kind: fc.constant('finish' as const),
    index: fc.nat(20),
    health: fc.constantFrom('arrived' as const, 'failing' as const, 'slow' as const),
  }),
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

type Action = typeof action extends fc.Arbitrary<infer Step> ? Step : never;

function play(world: World, step: Action): void {
  const ref = 'webhook' in step ? refs[step.webhook] : undefined;
  if (step.kind === 'publish' && ref) world.publish(ref, step.count);
  else if (step.kind === 'fresh' && ref) world.publishFresh(ref);
  else if (step.kind === 'offer fresh') world.offerFresh();
  else if (step.kind === 'poll') world.poll();
  else if (step.kind === 'begin refill') world.beginRefill();
  else if (step.kind === 'end refill') world.endRefill();
  else if (step.kind === 'wait') world.wait(step.ms);
  else if (step.kind === 'finish' && world.inFlight.length > 0) world.finish(step.index, step.health);
  else if (step.kind === 'restart') world.restart();
}

describe.each(Object.keys(schedulers) as (keyof typeof schedulers)[])('in every history, with the %s', (kind) => {
  const history = fc.array(action, { maxLength: 80 });
  /** Fan-out offers a delivery while a refill has reserved all attempts. */
  const duringRefill: Action[] = [
    { kind: 'fresh', webhook: 2 },
    { kind: 'publish', webhook: 2, count: 1 },
    { kind: 'poll' },
    { kind: 'begin refill' },
  ];
  const runs = { numRuns: 1_000, examples: [[duringRefill]] as [Action[]][] };

  test('no endpoint, workspace or instance exceeds its limits, and an open circuit gets one probe at a time', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const world = new World(kind);
        for (const step of steps) {
          play(world, step);
          expectWithinLimits(world);
        }
      }),
      runs,
    );
  });

  test('no due delivery starves: when the endpoints respond, all are delivered', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const world = new World(kind);
        for (const step of steps) play(world, step);
        for (let round = 0; world.queued > 0; round += 1) {
          expect(round).toBeLessThan(2_000);
          world.nowMs += 1_000;
          world.poll();
          world.refill();
          expectWithinLimits(world);
          while (world.inFlight.length > 0) world.finish(0, 'arrived');
        }
        world.refill();
        expect(world.scheduler.stats()).toMatchObject({ inFlight: 0, bytes: 0, heldByWebhook: 0, heldByWorkspace: 0 });
      }),
      runs,
    );
  });

  test('the scheduler is work conserving: due deliveries start while limits allow it', () => {
    fc.assert(
      fc.property(history, (steps) => {
        const world = new World(kind);
        for (const step of steps) play(world, step);
        world.offerFresh();
        world.endRefill();
        while (world.inFlight.length > 0) world.finish(0, 'arrived');
        world.nowMs += leaseMs + limits.maxPauseMs * 2;
        const queued = world.queued;
        // A poll reads some due webhooks.
        for (let i = 0; i < refs.length; i += 1) {
          world.poll();
          world.refill();
        }
        if (queued > 0) expect(world.inFlight.length).toBeGreaterThan(0);
      }),
      runs,
    );
  });
});

describe('the scheduler', () => {
  const [one, two, three, four] = refs as [EndpointRef, EndpointRef, EndpointRef, EndpointRef];
  const roomy = {
    ...allLimits,
    attempts: 100,
    attemptsOfWorkspace: 10,
    attemptsOfWebhook: 4,
    aheadPerAttempt: 0,
  };
  const attemptOf = (endpoint: EndpointRef, id: string, maxConcurrency = 4): Attempt => ({
    id,
    endpoint,
    maxConcurrency,
    bytes: 10,
  });
  const failing = { durationMs: 5, health: 'failing' as const };
  const slow = { durationMs: 10_000, health: 'arrived' as const };
  const state = { pauseMs: 0, concurrency: undefined };

  test('after a restart, a recovering endpoint reaches its full concurrency without further polls', () => {
    const world = new World();
    Object.assign(world.stored.get('wh_1') as object, { concurrency: 1 });
    world.publish(one, 20);
    world.restart();
    world.poll();
    world.refill();
    const inFlight = [world.inFlight.length];
    while (world.inFlight.length > 0) {
      world.finish(0, 'arrived');
      world.refill();
      inFlight.push(world.inFlight.length);
    }
    expect(inFlight.slice(0, 4)).toEqual([1, 2, 3, 3]);
    expect(world.queued).toBe(0);
  });

  test('webhooks take turns when their workspace has few free attempts', () => {
    const scheduler = new Scheduler({ ...roomy, attemptsOfWorkspace: 4 });
    scheduler.found([one, two]);
    const [first, ...others] = scheduler.next();
    expect([first, others]).toEqual([{ webhookId: 'wh_1', deliveries: 4, attempts: 4, isKnown: false }, []]);
    scheduler.refilled(first ? [first] : [], [{ webhookId: 'wh_1', leased: 4, hasMore: true, state }]);
    for (let i = 0; i < 4; i += 1) scheduler.offer(attemptOf(one, `dlv_${i}`));
    expect(scheduler.next()).toEqual([]);
    scheduler.finish(attemptOf(one, 'dlv_0'), { durationMs: 5, health: 'arrived' });
    expect(scheduler.next()).toMatchObject([{ webhookId: 'wh_2', attempts: 1 }]);
  });

  test('endpoints whose last attempt was slow or failed use at most half of the attempts of their workspace', () => {
    const scheduler = new Scheduler({ ...roomy, attemptsOfWebhook: 16 });
    for (const ref of [one, two, three]) {
      scheduler.offer(attemptOf(ref, 'first', 16));
      scheduler.finish(attemptOf(ref, 'first', 16), slow);
    }
    scheduler.found([one, two, three]);
    // Five of the ten attempts of the workspace.
    const refills = scheduler.next();
    const attempts = refills.reduce((sum, refill) => sum + refill.attempts, 0);
    expect(attempts).toBe(5);
    scheduler.found([four]);
    expect(scheduler.next()).toMatchObject([{ webhookId: 'wh_4', attempts: 10 }]);
  });

  test('a refill that leased fewer deliveries than requested frees the rest', () => {
    const scheduler = new Scheduler(roomy);
    scheduler.found([one]);
    const refills = scheduler.next();
    expect(scheduler.stats().inFlight).toBe(4);
    scheduler.refilled(refills, [{ webhookId: 'wh_1', leased: 1, hasMore: true, state }]);
    scheduler.offer(attemptOf(one, 'dlv_1'));
    expect(scheduler.stats().inFlight).toBe(1);
    // The others are locked or not allowed yet; a poll finds them.
    expect(scheduler.next()).toEqual([]);
    scheduler.found([one]);
    expect(scheduler.next()).toEqual([{ webhookId: 'wh_1', deliveries: 3, attempts: 3, isKnown: true }]);
  });

  test('a webhook for which deliveries are stored during a refill stays due', () => {
    const scheduler = new Scheduler(roomy);
    scheduler.found([one]);
    const refills = scheduler.next();
    scheduler.stored(['wh_1']);
    scheduler.refilled(refills, [{ webhookId: 'wh_1', leased: 0, hasMore: false, state }]);
    expect(scheduler.next()).toHaveLength(1);
  });

  test('a failed refill reserves nothing', () => {
    const scheduler = new Scheduler(roomy);
    scheduler.found([one, four]);
    scheduler.refilled(scheduler.next(), []);
    expect(scheduler.stats()).toMatchObject({ inFlight: 0, heldByWebhook: 0, heldByWorkspace: 0 });
  });

  test('fresh deliveries of a webhook with due deliveries are not leased before those', () => {
    const scheduler = new Scheduler(roomy);
    expect(scheduler.capacity()).toMatchObject({ total: 100, ofOtherWorkspaces: 10 });
    scheduler.offer(attemptOf(one, 'dlv_1'));
    expect(scheduler.capacity().ofWebhooks).toEqual(new Map([['wh_1', 3]]));
    expect(scheduler.capacity().ofWorkspaces).toEqual(new Map([['ws_1', 9]]));
    expect(scheduler.stored(['wh_1'])).toBe(false);
    expect(scheduler.capacity().ofWebhooks).toEqual(new Map([['wh_1', 0]]));
    expect(scheduler.stored(['wh_2'])).toBe(true);
  });

  describe('deliveries that are leased ahead', () => {
    const ahead = { ...roomy, attemptsOfWebhook: 2, aheadPerAttempt: 2 };
    const quick = { durationMs: 5, health: 'arrived' as const };
    const offered = (scheduler: Scheduler<Attempt>, count: number) =>
      Array.from({ length: count }, (_, i) => scheduler.offer(attemptOf(one, `dlv_${i}`, 2)));

    test('start in order as attempts of their webhook end', () => {
      const scheduler = new Scheduler(ahead);
      scheduler.found([one]);
      expect(scheduler.next()).toMatchObject([{ deliveries: 6, attempts: 2 }]);
      scheduler.refilled([{ webhookId: 'wh_1', deliveries: 6, attempts: 2, isKnown: false }], []);
      expect(offered(scheduler, 7)).toEqual(['start', 'start', 'wait', 'wait', 'wait', 'wait', 'full']);
      expect(scheduler.stats()).toMatchObject({ inFlight: 2, ahead: 4, bytes: 60 });
      expect(scheduler.finish(attemptOf(one, 'dlv_0', 2), quick).start).toMatchObject([{ id: 'dlv_2' }]);
      expect(scheduler.stats()).toMatchObject({ inFlight: 2, ahead: 3, bytes: 50 });
    });

    test('are refilled when one per concurrent attempt remains', () => {
      const scheduler = new Scheduler(ahead);
      offered(scheduler, 6);
      scheduler.stored(['wh_1']);
      const refills: number[] = [];
      for (let i = 0; i < 4; i += 1) {
        scheduler.finish(attemptOf(one, `dlv_${i}`, 2), quick);
        refills.push(scheduler.next().reduce((sum, { deliveries }) => sum + deliveries, 0));
      }
      expect(refills).toEqual([0, 2, 3, 4]);
    });

    test('are released when an attempt is slow or fails, and when the instance stops', () => {
      const scheduler = new Scheduler(ahead);
      offered(scheduler, 4);
      const { start, release } = scheduler.finish(attemptOf(one, 'dlv_0', 2), failing);
      expect([start, release.map(({ id }) => id)]).toEqual([[], ['dlv_2', 'dlv_3']]);
      expect(scheduler.offer(attemptOf(four, 'dlv_9', 1))).toBe('start');
      expect(scheduler.offer(attemptOf(four, 'dlv_10', 1))).toBe('wait');
      expect(scheduler.drain().map(({ id }) => id)).toEqual(['dlv_10']);
      expect(scheduler.stats()).toMatchObject({ inFlight: 2, ahead: 0, bytes: 20 });
    });

    test('are not leased while other webhooks wait for a shared limit', () => {
      const scheduler = new Scheduler({ ...ahead, attemptsOfWorkspace: 3 });
      offered(scheduler, 2);
      scheduler.found([two]);
      expect(scheduler.next()).toMatchObject([{ webhookId: 'wh_2', deliveries: 1, attempts: 1 }]);
    });
  });

  test('nothing is leased while the bodies in flight exceed their limit', () => {
    const scheduler = new Scheduler({ ...roomy, bytes: 15 });
    for (const id of ['dlv_1', 'dlv_2']) scheduler.offer(attemptOf(one, id));
    scheduler.found([four]);
    expect([scheduler.next(), scheduler.capacity().total, scheduler.canPoll]).toEqual([[], 0, false]);
    scheduler.finish(attemptOf(one, 'dlv_1'), failing);
    expect(scheduler.next()).toHaveLength(1);
  });

  test('the poll excludes what cannot be leased now', () => {
    const scheduler = new Scheduler({ ...roomy, attemptsOfWorkspace: 4 });
    for (let i = 0; i < 4; i += 1) scheduler.offer(attemptOf(one, `dlv_${i}`));
    scheduler.offer(attemptOf(four, 'dlv_9'));
    expect(scheduler.excluded()).toEqual({ webhookIds: ['wh_1'], workspaceIds: ['ws_1'] });
    scheduler.found([two]);
    expect(scheduler.stats()).toMatchObject({ heldByWebhook: 0, heldByWorkspace: 0 });
  });

  describe('when too many due webhooks wait', () => {
    const [five, six] = refs.slice(4) as [EndpointRef, EndpointRef];
    const hasMore = (scheduler: Scheduler<Attempt>) => {
      const refills = scheduler.next();
      const results = refills.map(({ webhookId, deliveries }) => ({
        webhookId,
        leased: deliveries,
        hasMore: true,
        state,
      }));
      scheduler.refilled(refills, results);
      for (const { webhookId, deliveries } of refills) {
        const ref = refs.find((one) => one.webhookId === webhookId) as EndpointRef;
        for (let i = 0; i < deliveries; i += 1) scheduler.offer(attemptOf(ref, `${webhookId}-${i}`));
      }
      return refills.map(({ webhookId }) => webhookId);
    };

    test('those of workspaces at their limits keep out no other workspace', () => {
      const scheduler = new Scheduler({ ...roomy, waiting: 4, attemptsOfWorkspace: 4 });
      scheduler.found([one, two, four, five]);
      expect(hasMore(scheduler)).toEqual(['wh_1', 'wh_4']);
      // Both workspaces are at their limits, and all of their webhooks have more due deliveries.
      expect(hasMore(scheduler)).toEqual([]);
      expect(scheduler.canPoll).toBe(true);
      expect(scheduler.excluded().workspaceIds).toEqual(['ws_1', 'ws_2']);
      scheduler.found([six]);
      expect(scheduler.stats().throttled).toHaveLength(4);
      expect(hasMore(scheduler)).toEqual(['wh_6']);
    });

    test('a workspace gets no more than the others have', () => {
      const scheduler = new Scheduler({ ...roomy, waiting: 3 });
      scheduler.found([one, two, three]);
      expect(scheduler.excluded().workspaceIds).toEqual(['ws_1']);
      scheduler.found([four, five]);
      // The webhook with the last turn leaves.
      expect(scheduler.stats().throttled).toEqual(['wh_1', 'wh_2', 'wh_4']);
      expect(scheduler.excluded().workspaceIds).toEqual(['ws_1', 'ws_2']);
      scheduler.found([six]);
      expect(scheduler.stats().throttled).toEqual(['wh_1', 'wh_4', 'wh_6']);
      expect(scheduler.canPoll).toBe(false);
    });
  });

  test('the instances share the concurrency limit of a webhook', () => {
    const parts = [0, 1, 2].map((rank) => {
      const scheduler = new Scheduler({ ...allLimits, aheadPerAttempt: 0 });
      scheduler.part = { rank, count: 3 };
      scheduler.offer(attemptOf(one, 'dlv_1', 32));
      return 1 + (scheduler.capacity().ofWebhooks.get('wh_1') ?? 0);
    });
    expect(parts).toEqual([11, 11, 10]);
    const small = [0, 1, 2].map((rank) => partOfLimit(2, { rank, count: 3 }));
    expect(small).toEqual([1, 1, 1]);
  });
});
