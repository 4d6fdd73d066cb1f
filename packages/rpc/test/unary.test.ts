import { RmsError } from '@rms/errors';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcContext } from '@rms/rpc';
import { signalled, startWorkspaces, type WorkspacesServer } from './workspaces-server.ts';

describe('Unary calls', () => {
  let workspaces: WorkspacesServer | undefined;
  const start = async (...args: Parameters<typeof startWorkspaces>) => {
    workspaces = await startWorkspaces(...args);
    return workspaces;
  };
  afterEach(async () => {
    await workspaces?.stop();
    workspaces = undefined;
  });

  test('a request and its answer arrive as they were sent', async () => {
    const { client } = await start();
    const { workspace } = await client.createWorkspace({ name: 'Grüße 🌍' });
    expect(workspace).toMatchObject({ id: 'ws_1', name: 'Grüße 🌍' });
  });

  test('request id, traceparent and principal travel in metadata', async () => {
    const seen: RpcContext[] = [];
    let peer = '';
    let deadline: Date | undefined;
    const { client } = await start({
      createWorkspace: async (_, context) => {
        seen.push(context);
        ({ peer, deadline } = context);
        return {};
      },
    });
    const principal = {
      workspaceId: 'ws_1',
      environment: Environment.SANDBOX,
      keyId: 'key_1',
      scope: Scope.WRITE,
    };
    await client.createWorkspace(
      {},
      { context: { requestId: 'req_abc', traceparent: '00-aa-bb-01', principal }, timeoutMs: 3_000 },
    );
    expect(seen[0]).toMatchObject({ requestId: 'req_abc', traceparent: '00-aa-bb-01', principal });
    expect(seen[0]?.method).toBe('rms.auth.v1.WorkspacesService/CreateWorkspace');
    expect(peer).toContain('127.0.0.1');
    const leftMs = (deadline?.getTime() ?? 0) - Date.now();
    expect(leftMs).toBeGreaterThan(0);
    expect(leftMs).toBeLessThanOrEqual(3_000);
  });

  test('a call without a context has empty ids and no principal', async () => {
    const seen: RpcContext[] = [];
    const { client } = await start({
      createWorkspace: async (_, context) => {
        seen.push(context);
        return {};
      },
    });
    await client.createWorkspace({});
    expect(seen[0]?.requestId).toBe('');
    expect(seen[0]?.principal).toBeUndefined();
  });

  test('a call past its deadline is a timeout, and the handler sees its signal abort', async () => {
    const aborted = signalled();
    const { client } = await start({
      createWorkspace: async (_, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        aborted.resolve();
        return {};
      },
    });
    await expect(client.createWorkspace({}, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' });
    await aborted.promise;
  });

  test("the client's default deadline holds for calls that set none", async () => {
    const { client } = await start({ createWorkspace: () => new Promise(() => {}) }, { timeoutMs: 100 });
    await expect(client.createWorkspace({})).rejects.toMatchObject({ code: 'timeout' });
  });

  test("an abort at the caller ends the call, and aborts the handler's signal", async () => {
    const entered = signalled();
    const aborted = signalled();
    const { client } = await start({
      createWorkspace: async (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        entered.resolve();
        await aborted.promise;
        return {};
      },
    });
    const abort = new AbortController();
    const call = client.createWorkspace({}, { signal: abort.signal });
    await entered.promise;
    abort.abort();
    await expect(call).rejects.toBeInstanceOf(RmsError);
    await aborted.promise;
  });

  test('a signal that has aborted before the call ends it at once', async () => {
    const { client } = await start({ createWorkspace: () => new Promise(() => {}) });
    const call = client.createWorkspace({}, { signal: AbortSignal.abort() });
    await expect(call).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  test('a handler that looks at its signal late sees that the caller has gone', async () => {
    const entered = signalled();
    const look = signalled();
    const seen = signalled<boolean>();
    const { client } = await start({
      createWorkspace: async (_, context) => {
        entered.resolve();
        await look.promise;
        seen.resolve(context.signal.aborted);
        return {};
      },
    });
    const abort = new AbortController();
    const call = client.createWorkspace({}, { signal: abort.signal });
    await entered.promise;
    abort.abort();
    await expect(call).rejects.toBeInstanceOf(RmsError);
    // A second call on the same connection: the server has read the cancellation of the first by its answer.
    await client.listWorkspaces({});
    look.resolve();
    expect(await seen.promise).toBe(true);
  });

  test('closing a client lets its calls under way finish', async () => {
    const entered = signalled();
    const answer = signalled();
    const { client } = await start({
      createWorkspace: async () => {
        entered.resolve();
        await answer.promise;
        return { workspace: { name: 'finished' } };
      },
    });
    const call = client.createWorkspace({});
    await entered.promise;
    client.close();
    answer.resolve();
    expect((await call).workspace?.name).toBe('finished');
  });

  test('a message of several MiB passes', async () => {
    const { client } = await start();
    const name = 'x'.repeat(8 * 1024 * 1024);
    const { workspace } = await client.createWorkspace({ name });
    expect(workspace?.name.length).toBe(name.length);
  });
});
