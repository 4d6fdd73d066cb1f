import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, type GrpcService, type GrpcServiceOptions, rpcService } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { disposable, freePort, waitUntil } from '@rms/testkit';
import { createUnitService } from './unit-service.ts';
import { signaled } from './workspaces-server.ts';

const { SERVING, NOT_SERVING } = ServingStatus;

/** Creates a service that records its events in order. */
function build(overrides: Partial<GrpcServiceOptions> = {}) {
  const events: string[] = [];
  const logged: { msg: string; level: string }[] = [];
  const service = createUnitService({
    log: createLogger({ name: 'unit', destination: { write: (line) => void logged.push(JSON.parse(line)) } }),
    services: [
      rpcService(WorkspacesService, {
        createWorkspace: async () => ({}),
        listWorkspaces: async () => ({ workspaces: [] }),
        getWorkspace: async () => ({}),
        bootstrapWorkspace: async () => ({}),
        setWorkspacePlan: async () => ({}),
      }),
    ],
    workers: [
      {
        name: 'worker',
        async run(signal) {
          events.push('worker runs');
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
          events.push('worker drained');
        },
      },
    ],
    open: async () => void events.push('open'),
    close: async () => void events.push('close'),
    ...overrides,
  });
  return { service, events, logged };
}

const stateOf = async ({ address }: GrpcService) => {
  await using health = disposable(createClient(Health, { target: address, timeoutMs: 60_000 }));
  return (await health.check({})).status;
};

describe('createGrpcService', () => {
  test('opens, serves and runs workers, and stops in reverse order', async () => {
    const { service, events } = build();
    expect(() => service.address).toThrow('has not started');
    await service.start();
    expect(await stateOf(service)).toBe(SERVING);
    await service.stop();
    expect(events).toEqual(['open', 'worker runs', 'worker drained', 'close']);
  });

  test('stops once, even if stop() is called repeatedly', async () => {
    const { service, events } = build();
    await service.start();
    await Promise.all([service.stop(), service.stop()]);
    await service.stop();
    expect(events.filter((event) => event === 'close')).toHaveLength(1);
  });

  test('calls in flight end before workers and connections', async () => {
    const entered = signaled();
    const response = signaled();
    const { service, events } = build({
      services: [
        rpcService(WorkspacesService, {
          createWorkspace: async () => {
            entered.resolve();
            await response.promise;
            events.push('call answered');
            return {};
          },
          listWorkspaces: async () => ({ workspaces: [] }),
          getWorkspace: async () => ({}),
          bootstrapWorkspace: async () => ({}),
          setWorkspacePlan: async () => ({}),
        }),
      ],
    });
    await service.start();
    const client = createClient(WorkspacesService, { target: service.address, timeoutMs: 60_000 });
    const call = client.createWorkspace({});
    await entered.promise;
    const stopped = service.stop();
    response.resolve();
    await Promise.all([call, stopped]);
    client.close();
    expect(events).toEqual(['open', 'worker runs', 'call answered', 'worker drained', 'close']);
  });

  test('its health follows its dependencies, and each change is logged once', async () => {
    let unavailable = true;
    const { service, logged } = build({
      checks: {
        async database() {
          if (unavailable) throw new Error('the database is down');
        },
      },
    });
    await service.start();
    expect(await stateOf(service)).toBe(NOT_SERVING);
    unavailable = false;
    await waitUntil(async () => (await stateOf(service)) === SERVING, { what: 'serving' });
    unavailable = true;
    await waitUntil(async () => (await stateOf(service)) === NOT_SERVING, { what: 'not serving' });
    await service.stop();
    const messages = logged.map(({ msg }) => msg).filter((msg) => msg.endsWith('ready'));
    expect(messages).toEqual(['not ready', 'ready', 'not ready']);
  });

  test('a dependency that never responds counts as down', async () => {
    const { service } = build({ checks: { database: () => new Promise(() => {}) } });
    await service.start();
    expect(await stateOf(service)).toBe(NOT_SERVING);
    await service.stop();
  });

  test('a failing worker makes it not serving', async () => {
    const { service } = build({
      workers: [
        {
          name: 'broken',
          async run() {
            throw new Error('broken');
          },
        },
      ],
    });
    await service.start();
    await waitUntil(async () => (await stateOf(service)) === NOT_SERVING, { what: 'not serving' });
    await service.stop();
  });

  test('probes on the metrics port report its state, failing parts and whether it accepts calls', async () => {
    let unavailable = true;
    const [entered, response] = [signaled(), signaled()];
    const port = await freePort();
    const { service } = build({
      metricsAddress: { host: '127.0.0.1', port },
      checks: {
        async database() {
          if (unavailable) throw new Error('postgres://user:password@db is away');
        },
      },
      open: async () => {
        entered.resolve();
        await response.promise;
      },
    });
    const probe = async (path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return [response.status, await response.json()];
    };
    const started = service.start();
    await entered.promise;
    expect(await probe('/livez')).toEqual([200, { status: 'alive' }]);
    const beforeStart = [503, { status: 'not_ready', failing: ['starting'] }];
    expect([await probe('/readyz'), await probe('/readyz/calls')]).toEqual([beforeStart, beforeStart]);
    response.resolve();
    await started;
    expect(await probe('/readyz')).toEqual([503, { status: 'not_ready', failing: ['database'] }]);
    expect(await probe('/readyz/calls')).toEqual([200, { status: 'ready', failing: ['database'] }]);
    unavailable = false;
    await waitUntil(async () => (await probe('/readyz'))[0] === 200, { what: 'readiness' });
    expect(await probe('/readyz')).toEqual([200, { status: 'ready', failing: [] }]);
    await service.stop();
  });

  test('stop() cleans up after a failed start', async () => {
    const { service, events } = build({
      open: async () => {
        throw new Error('cannot open');
      },
    });
    await expect(service.start()).rejects.toThrow('cannot open');
    await service.stop();
    expect(events).toEqual(['close']);
  });
});
