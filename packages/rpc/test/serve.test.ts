import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient } from '@rms/rpc';
import { waitUntil } from '@rms/testkit';
import { signaled, startWorkspaces, targetOf, transports, type WorkspacesServer } from './workspaces-server.ts';

const portOf = ({ server }: WorkspacesServer) => Number(server.address.split(':').at(-1));

describe('A server', () => {
  test('fails to start on a port in use, and names the port', async () => {
    const first = await startWorkspaces();
    await expect(startWorkspaces({}, { port: portOf(first) })).rejects.toMatchObject({
      code: 'EADDRINUSE',
      port: portOf(first),
    });
    await first.stop();
  });

  test('shares the calls of a client with the other servers of the target', async () => {
    const counts = [0, 0, 0];
    const servers = await Promise.all(
      counts.map((_, index) =>
        startWorkspaces({
          createWorkspace: async () => {
            counts[index] = (counts[index] ?? 0) + 1;
            return {};
          },
        }),
      ),
    );
    const target = `ipv4:${servers.map(({ server }) => server.address).join(',')}`;
    const client = createClient(WorkspacesService, { target, timeoutMs: 60_000 });
    // The first call may be sent before all three are connected.
    await waitUntil(
      async () => {
        await client.createWorkspace({});
        return counts.every((count) => count > 0);
      },
      { what: 'all servers to be called' },
    );
    counts.fill(0);
    for (let i = 0; i < 30; i++) await client.createWorkspace({});
    expect(counts).toEqual([10, 10, 10]);

    await servers[1]?.server.stop();
    for (let i = 0; i < 20; i++) await client.createWorkspace({});
    expect(counts[1]).toBe(10);
    client.close();
    await Promise.all(servers.map((server) => server.stop()));
  });
});

describe.each(transports)('A server called by %s', (transport) => {
  const start = (...[handlers, options]: Parameters<typeof startWorkspaces>) =>
    startWorkspaces(handlers, { ...options, transport });

  test('finishes calls in flight when it stops, and accepts no new calls', async () => {
    const entered = signaled();
    const response = signaled();
    const workspaces = await start({
      createWorkspace: async () => {
        entered.resolve();
        await response.promise;
        return { workspace: { name: 'finished' } };
      },
    });
    const call = workspaces.client.createWorkspace({});
    await entered.promise;
    const stopped = workspaces.server.stop();
    const other = createClient(WorkspacesService, {
      target: targetOf(workspaces.server, transport),
      timeoutMs: 60_000,
    });
    await expect(other.listWorkspaces({})).rejects.toMatchObject({ code: 'service_unavailable' });
    response.resolve();
    expect((await call).workspace?.name).toBe('finished');
    await stopped;
    other.close();
    await workspaces.stop();
  });

  test('notifies calls in flight when it stops', async () => {
    const entered = signaled();
    const workspaces = await start({
      createWorkspace: (_, { stopping }) => {
        expect(stopping.aborted).toBe(false);
        entered.resolve();
        return new Promise((resolve) => {
          stopping.addEventListener('abort', () => resolve({ workspace: { name: 'told' } }));
        });
      },
    });
    const call = workspaces.client.createWorkspace({});
    await entered.promise;
    await workspaces.server.stop();
    expect((await call).workspace?.name).toBe('told');
    await workspaces.stop();
  });

  test('ends calls that exceed the grace period', async () => {
    const entered = signaled();
    const workspaces = await start({
      createWorkspace: () => {
        entered.resolve();
        return new Promise(() => {});
      },
    });
    const refused = expect(workspaces.client.createWorkspace({})).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    await entered.promise;
    await workspaces.server.stop(50);
    await refused;
    await workspaces.stop();
  });

  test('can be stopped twice, and without any call', async () => {
    const workspaces = await start();
    await Promise.all([workspaces.server.stop(), workspaces.server.stop()]);
    await workspaces.stop();
  });

  test('a client that was created before its start calls it', async () => {
    const stopped = await start();
    const target = targetOf(stopped.server, transport);
    await stopped.stop();
    const early = createClient(WorkspacesService, { target, timeoutMs: 60_000 });
    const started = await start({}, { port: portOf(stopped) });
    await waitUntil(() => early.createWorkspace({}), { what: 'the client to connect' });
    early.close();
    await started.stop();
  });

  test('clients reconnect after its restart', async () => {
    const first = await start();
    const port = portOf(first);
    await first.client.createWorkspace({ name: 'before' });
    await first.server.stop();
    await expect(first.client.createWorkspace({ name: 'away' })).rejects.toMatchObject({ code: 'service_unavailable' });
    const second = await start({}, { port });
    const { workspace } = await waitUntil(() => first.client.createWorkspace({ name: 'after' }), {
      what: 'the client to reconnect',
    });
    expect(workspace?.name).toBe('after');
    await second.stop();
    await first.stop();
  });
});
