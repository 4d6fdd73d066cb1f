import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { createClient } from '@rms/rpc';
import { perTest } from '@rms/testkit';
import { startWorkspaces, targetOf, transports } from './workspaces-server.ts';

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = ServingStatus;
const service = 'rms.auth.v1.WorkspacesService';

describe.each(transports)('Health by %s', (transport) => {
  const workspaces = perTest(startWorkspaces);
  const health = perTest(() =>
    createClient(Health, { target: targetOf(workspaces.server, transport), timeoutMs: 60_000 }),
  );

  test("a server starts as not serving, and reports its state and each service's state", async () => {
    expect(await health.check({})).toMatchObject({ status: NOT_SERVING });
    workspaces.server.health.set(true);
    expect(await health.check({})).toMatchObject({ status: SERVING });
    expect(await health.check({ service })).toMatchObject({ status: SERVING });
    workspaces.server.health.set(false, service);
    expect(await health.check({})).toMatchObject({ status: SERVING });
    expect(await health.check({ service })).toMatchObject({ status: NOT_SERVING });
  });

  test('an unknown service is not_found', async () => {
    await expect(health.check({ service: 'nobody' })).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a watcher receives the current state, then every change, without repetitions', async () => {
    const states = health.watch({ service })[Symbol.asyncIterator]();
    const next = async () => (await states.next()).value?.status;
    expect(await next()).toBe(NOT_SERVING);
    workspaces.server.health.set(true);
    workspaces.server.health.set(true);
    expect(await next()).toBe(SERVING);
    workspaces.server.health.set(false);
    expect(await next()).toBe(NOT_SERVING);
    await states.return?.(undefined);
  });

  test('watching an unknown service reports SERVICE_UNKNOWN and waits', async () => {
    const states = health.watch({ service: 'nobody' })[Symbol.asyncIterator]();
    expect((await states.next()).value).toMatchObject({ status: SERVICE_UNKNOWN });
    await states.return?.(undefined);
  });

  test('a watch past its deadline is a timeout', async () => {
    const watch = async () => {
      const seen: ServingStatus[] = [];
      for await (const { status } of health.watch({}, { timeoutMs: 200 })) seen.push(status);
      return seen;
    };
    await expect(watch()).rejects.toMatchObject({ code: 'timeout' });
  });

  test('an abort ends a watch', async () => {
    const abort = new AbortController();
    const watch = async () => {
      for await (const _ of health.watch({}, { signal: abort.signal })) abort.abort();
    };
    await expect(watch()).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  test('a reader that stops early ends the call without an error', async () => {
    for (let i = 0; i < 20; i++) {
      for await (const { status } of health.watch({})) {
        expect(status).toBe(NOT_SERVING);
        break;
      }
    }
    expect(await health.check({})).toMatchObject({ status: NOT_SERVING });
    expect(workspaces.logged).toEqual([]);
  });

  test('watchers are notified when the server stops, and do not delay it', async () => {
    workspaces.server.health.set(true);
    const seen: ServingStatus[] = [];
    const watched = (async () => {
      for await (const { status } of health.watch({})) {
        seen.push(status);
        // The grace period is an hour, so the server only stops in time if this call ends.
        if (status === SERVING) void workspaces.server.stop(3_600_000);
      }
    })();
    await watched;
    await workspaces.server.stop();
    expect(seen).toEqual([SERVING, NOT_SERVING]);
  });
});
