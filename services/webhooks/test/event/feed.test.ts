import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { createFeedWatchers } from '../../src/event/feed-watchers.ts';
import { newEvent, newEvents, newTenant, startWebhooks, type Tenant, type Webhooks } from '../support.ts';

describe('the feed of a tenant', () => {
  const rms = perSuite(startWebhooks);
  const second = perSuite(() => startWebhooks({}, { given: rms.database }));

  /** Reads all events after a position, page by page. */
  const readAll = async (tenant: Tenant, pageSize: number, after = 0n) => {
    const found: { id: string; position: bigint }[] = [];
    for (let last = after; ; ) {
      const { events } = await rms.feed.listEvents({ ...tenant, after: last, pageSize });
      if (events.length === 0) return found;
      found.push(...events);
      last = events.at(-1)?.position ?? last;
    }
  };
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => BigInt(i + 1));

  test('has gapless positions from 1 under concurrent writers, and a concurrent reader misses no event', async () => {
    const workspaces = Array.from({ length: 6 }, () => newTenant());
    const tenants = workspaces.flatMap((tenant) => [tenant, { ...tenant, environment: Environment.SANDBOX }]);
    const [watched] = tenants as [Tenant];
    const created = tenants.map(() => [] as string[]);
    const rounds = 20;

    let writing = true;
    const write = async (instance: Webhooks) => {
      for (let round = 0; round < rounds; round += 1) {
        const events = tenants.flatMap((tenant, i) => {
          const some = newEvents(tenant, 1 + ((round + i) % 3));
          created[i]?.push(...some.map(({ id }) => id));
          return some;
        });
        // Publishes some of them twice, in random order.
        await instance.publish(...events.sort(() => Math.random() - 0.5), ...events.slice(0, 3));
      }
    };
    const read = async () => {
      const seen: { id: string; position: bigint }[] = [];
      for (let going = true; going; ) {
        going = writing;
        seen.push(...(await readAll(watched, 7, seen.at(-1)?.position)));
      }
      return seen;
    };
    const reading = read();
    await Promise.all([write(rms), write(rms), write(second), write(second)]);
    writing = false;

    const seen = await reading;
    expect(seen.map(({ position }) => position)).toEqual(upTo(created[0]?.length ?? 0));
    expect(seen.map(({ id }) => id).sort()).toEqual(created[0]?.sort());
    for (const [i, tenant] of tenants.entries()) {
      const all = await readAll(tenant, 50);
      expect(all.map(({ position }) => position)).toEqual(upTo(created[i]?.length ?? 0));
      expect(all.map(({ id }) => id).sort()).toEqual(created[i]?.sort());
    }
  });

  test('a page with large bodies has fewer events; the next pages and a watcher return the others', async () => {
    const tenant = newTenant();
    // Two events of 400 KiB fit into 1 MiB. An event that is larger alone is the only one of its page.
    for (const kib of [400, 400, 400, 1_500, 10]) {
      await rms.publish(newEvent(tenant, 'resource.created', 'x'.repeat(kib * 1024)));
    }
    const page = (after: bigint) => rms.feed.listEvents({ ...tenant, after, pageSize: 100 });
    expect(await page(0n)).toMatchObject({ newestPosition: 5n, hasMore: true });
    const positions = [];
    for (let after = 0n; after < 5n; after = positions.at(-1)?.at(-1) ?? 5n) {
      positions.push((await page(after)).events.map(({ position }) => position));
    }
    expect(positions).toEqual([[1n, 2n], [3n], [4n], [5n]]);
    const watched: bigint[] = [];
    for await (const { event } of rms.feed.watchEvents({ ...tenant, after: 0n })) {
      watched.push(event?.position ?? 0n);
      if (watched.length === 5) break;
    }
    expect(watched).toEqual(upTo(5));
  });

  test('can be read up to a time: the page ends with the last event before it', async () => {
    const tenant = newTenant();
    const minutesAgo = (minutes: number) => Date.now() - minutes * 60_000;
    for (const minutes of [5, 4, 3]) {
      await rms.publish(Object.assign(newEvent(tenant), { id: newId('evt', minutesAgo(minutes)) }));
    }
    const until = async (minutes: number, pageSize: number) => {
      const { events } = await rms.feed.listEvents({
        ...tenant,
        pageSize,
        until: timestampFromMs(minutesAgo(minutes)),
      });
      return events.map(({ position }) => position);
    };
    expect(await until(3.5, 1)).toEqual([2n]);
    expect(await until(3.5, 10)).toEqual([1n, 2n]);
    expect(await until(0, 2)).toEqual([2n, 3n]);
    expect(await until(6, 2)).toEqual([]);
  });

  test('can be read from a position, without a filter, and reports its first and last position', async () => {
    const tenant = newTenant();
    const events = ['created', 'updated', 'updated', 'deleted'].map((type) => newEvent(tenant, `resource.${type}`));
    await rms.publish(...events);
    const list = (more: object) => rms.feed.listEvents({ ...tenant, pageSize: 10, ...more });
    const positions = async (more: object) => (await list(more)).events.map(({ position }) => position);
    expect(await positions({ after: 2n })).toEqual([3n, 4n]);
    expect(await positions({ after: 1n, pageSize: 1 })).toEqual([2n]);
    expect(await positions({ after: 4n })).toEqual([]);
    await expect(list({ type: 'resource.updated' })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'type' }],
    });
    const page = await list({ after: 3n });
    expect(page).toMatchObject({ oldestPosition: 1n, newestPosition: 4n });
    expect(page.events[0]).toMatchObject({
      id: events[3]?.id,
      type: 'resource.deleted',
      requestId: events[3]?.requestId,
    });
    expect(Buffer.from(page.events[0]?.body ?? [])).toEqual(Buffer.from(events[3]?.body ?? []));
    for (const other of [newTenant(), { ...tenant, environment: Environment.SANDBOX }]) {
      const none = { events: [], oldestPosition: 0n, newestPosition: 0n };
      expect(await rms.feed.listEvents({ ...other, pageSize: 10 })).toMatchObject(none);
    }
    const beyond = { code: 'invalid_request', details: [{ field: 'after', message: expect.stringMatching(/ 4$/) }] };
    await expect(list({ after: 5n })).rejects.toMatchObject(beyond);
    const sandbox = { ...tenant, environment: Environment.SANDBOX };
    await expect(list({ ...sandbox, after: 1n })).rejects.toMatchObject({ code: 'invalid_request' });
    for (const pageSize of [0, 1_001])
      await expect(list({ pageSize })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('has the events of a resource in bus order, regardless of the clocks behind their IDs', async () => {
    const tenant = newTenant();
    const resourceId = newId('res');
    const now = Date.now();
    const events = [0, -5_000, 3_000, -60_000].map((skewMs) => {
      const event = newEvent(tenant, 'resource.updated', 'thing', resourceId);
      return { ...event, id: newId('evt', now + skewMs) };
    });
    await rms.publish(...events);
    const { events: listed } = await rms.feed.listEvents({ ...tenant, pageSize: 10 });
    expect(listed.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  test('starts with the first retained event, and continues counting when none is retained', async () => {
    const tenant = newTenant();
    rms.database.breaks(['positions'], 'deletes the first events of a feed, as a dropped day does');
    await rms.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    const list = () => rms.feed.listEvents({ ...tenant, pageSize: 10 });
    const dropUpTo = (position: number) =>
      rms.database.pool.query('delete from webhooks.events where workspace_id = $1 and position <= $2', [
        tenant.workspaceId,
        position,
      ]);
    await dropUpTo(1);
    const kept = await list();
    expect(kept).toMatchObject({ oldestPosition: 2n, newestPosition: 3n });
    expect(kept.events.map(({ position }) => position)).toEqual([2n, 3n]);
    await dropUpTo(3);
    expect(await list()).toMatchObject({ events: [], oldestPosition: 0n, newestPosition: 3n });
    await rms.publish(newEvent(tenant));
    expect(await list()).toMatchObject({ events: [{ position: 4n }], oldestPosition: 4n, newestPosition: 4n });
  });

  test('can be watched from a position or from the current end', async () => {
    const tenant = newTenant();
    const before = [newEvent(tenant), newEvent(tenant)];
    await rms.publish(...before);
    const fromStart = rms.feed.watchEvents({ ...tenant, after: 0n })[Symbol.asyncIterator]();
    const fromSecond = rms.feed.watchEvents({ ...tenant, after: 1n })[Symbol.asyncIterator]();
    const next = async (watch: typeof fromStart) => (await watch.next()).value?.event?.id;
    expect([await next(fromStart), await next(fromStart)]).toEqual(before.map(({ id }) => id));
    expect(await next(fromSecond)).toBe(before[1]?.id);
    const later = newEvent(tenant);
    await second.publish(later);
    expect([await next(fromStart), await next(fromSecond)]).toEqual([later.id, later.id]);

    const fromNow = rms.feed.watchEvents(tenant)[Symbol.asyncIterator]();
    const first = fromNow.next();
    // The watch's start is not observable, so publish until it returns an event.
    let notified = false;
    void first.then(() => {
      notified = true;
    });
    const published: string[] = [];
    while (!notified) {
      const event = newEvent(tenant);
      published.push(event.id);
      await rms.publish(event);
    }
    expect(published).toContain((await first).value?.event?.id);
    for (const watch of [fromStart, fromSecond, fromNow]) await watch.return?.();
  });

  test('can be watched by 50 clients per instance; another client is rejected until a watch ends', async () => {
    const tenant = newTenant();
    await rms.publish(newEvent(tenant));
    const watch = () => rms.feed.watchEvents({ ...tenant, after: 0n })[Symbol.asyncIterator]();
    const watches = Array.from({ length: 50 }, watch);
    // Each watch has started when it returns the event.
    for (const one of watches) expect((await one.next()).value?.event?.position).toBe(1n);
    await expect(watch().next()).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringContaining('50 watchers'),
    });
    await watches.pop()?.return?.();
    await waitUntil(
      async () => {
        const one = watch();
        watches.push(one);
        return (await one.next()).value?.event?.position === 1n;
      },
      { what: 'capacity for one more' },
    );
    for (const one of watches) await one.return?.();
  });

  test('a stopping service ends its watches, which can resume on another instance', async () => {
    const tenant = newTenant();
    const stopped = await startWebhooks({}, { given: rms.database });
    const events = [newEvent(tenant), newEvent(tenant)] as const;
    await rms.publish(events[0]);
    const watch = stopped.feed.watchEvents({ ...tenant, after: 0n })[Symbol.asyncIterator]();
    expect((await watch.next()).value?.event?.id).toBe(events[0].id);
    const ended = watch.next();
    await stopped.stop();
    // A broken stream would reject.
    expect(await ended).toMatchObject({ done: true });
    await rms.publish(events[1]);
    const elsewhere = rms.feed.watchEvents({ ...tenant, after: 1n })[Symbol.asyncIterator]();
    expect((await elsewhere.next()).value?.event?.id).toBe(events[1].id);
    await elsewhere.return?.();
  });
});

describe('feed watchers', () => {
  const never = new AbortController().signal;
  const anHourMs = 3_600_000;

  test('sleep until an event of their workspace is stored, or wake immediately if one was stored while they were awake', async () => {
    const watchers = createFeedWatchers();
    const [mine, other] = [watchers.join('ws_1'), watchers.join('ws_2')];
    const ending = new AbortController();
    let otherWoke = false;
    const otherSleeps = other.sleep(anHourMs, ending.signal).then(() => {
      otherWoke = true;
    });
    const asleep = mine.sleep(anHourMs, never);
    watchers.wake([{ workspaceId: 'ws_1' }]);
    await asleep;
    watchers.wake([{ workspaceId: 'ws_1' }]);
    await mine.sleep(anHourMs, never);
    expect(otherWoke).toBe(false);
    ending.abort();
    await otherSleeps;
  });
});
