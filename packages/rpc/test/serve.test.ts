import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient } from '@rms/rpc';
import { waitUntil } from '@rms/testkit';
import { signalled, startWorkspaces, type WorkspacesServer } from './workspaces-server.ts';

const portOf = ({ server }: WorkspacesServer) => Number(server.address.split(':').at(-1));

describe('A server', () => {
  test('refuses to start on a port in use, naming it', async () => {
    const first = await startWorkspaces();
    await expect(startWorkspaces({}, { port: portOf(first) })).rejects.toMatchObject({
      code: 'EADDRINUSE',
      port: portOf(first),
    });
    await first.stop();
  });

  test('finishes calls under way when it stops, and takes no new ones', async () => {
    const entered = signalled();
    const answer = signalled();
    const workspaces = await startWorkspaces({
      createWorkspace: async () => {
        entered.resolve();
        await answer.promise;
        return { workspace: { name: 'finished' } };
      },
    });
    const call = workspaces.client.createWorkspace({});
    await entered.promise;
    const stopped = workspaces.server.stop();
    const other = createClient(WorkspacesService, { target: workspaces.server.address, timeoutMs: 2_000 });
    await expect(other.listWorkspaces({})).rejects.toMatchObject({ code: 'service_unavailable' });
    answer.resolve();
    expect((await call).workspace?.name).toBe('finished');
    await stopped;
    other.close();
    await workspaces.stop();
  });

  test('tells calls under way that it stops', async () => {
    const entered = signalled();
    const workspaces = await startWorkspaces({
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

  test('ends calls that outlast the grace', async () => {
    const entered = signalled();
    const workspaces = await startWorkspaces({
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

  test('may be stopped twice, and without ever having had a call', async () => {
    const workspaces = await startWorkspaces();
    await Promise.all([workspaces.server.stop(), workspaces.server.stop()]);
    await workspaces.stop();
  });

  test('is found again by its clients after a restart', async () => {
    const first = await startWorkspaces();
    const port = portOf(first);
    await first.client.createWorkspace({ name: 'before' });
    await first.server.stop();
    await expect(first.client.createWorkspace({ name: 'away' })).rejects.toMatchObject({ code: 'service_unavailable' });
    const second = await startWorkspaces({}, { port });
    const { workspace } = await waitUntil(() => first.client.createWorkspace({ name: 'after' }), {
      what: 'the client to reconnect',
    });
    expect(workspace?.name).toBe('after');
    await second.stop();
    await first.stop();
  });

  test('shares the load of a client with the other addresses of its target', async () => {
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
    const client = createClient(WorkspacesService, { target, timeoutMs: 5_000 });
    // The first call may go out before all three are connected.
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
