import { CallScope, currentCall, inCall } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import type { RpcContext } from '@rms/rpc';
import { signaled, startWorkspaces, transports, type WorkspacesServer } from './workspaces-server.ts';

describe.each(transports)('Unary calls by %s', (transport) => {
  let workspaces: WorkspacesServer | undefined;
  const start = async (...[handlers, options]: Parameters<typeof startWorkspaces>) => {
    workspaces = await startWorkspaces(handlers, { ...options, transport });
    return workspaces;
  };
  afterEach(async () => {
    await workspaces?.stop();
    workspaces = undefined;
  });

  test('a request and its response arrive unchanged', async () => {
    const { client } = await start();
    const { workspace } = await client.createWorkspace({ name: 'Grüße 🌍' });
    expect(workspace).toMatchObject({ id: 'ws_1', name: 'Grüße 🌍' });
  });

  test('request ID, trace context and principal are sent in metadata', async () => {
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
      { context: { requestId: 'req_abc', traceparent: '00-aa-bb-01', tracestate: 'a=1', principal }, timeoutMs: 3_000 },
    );
    expect(seen[0]).toMatchObject({ requestId: 'req_abc', traceparent: '00-aa-bb-01', tracestate: 'a=1', principal });
    expect(seen[0]?.method).toBe('rms.auth.v1.WorkspacesService/CreateWorkspace');
    expect(peer).toContain(transport === 'local' ? 'this process' : '127.0.0.1');
    const remainingMs = (deadline?.getTime() ?? 0) - Date.now();
    expect(remainingMs).toBeGreaterThan(0);
    expect(remainingMs).toBeLessThanOrEqual(3_000);
  });

  test('a call without a context has empty IDs and no principal', async () => {
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
    const aborted = signaled();
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

  test('the deadline of a call ends its scope, and cancels the calls that its handler makes', async () => {
    const ended = signaled();
    const nested = signaled();
    const { client } = await start({
      createWorkspace: async () => {
        const call = currentCall();
        await Promise.all([
          new Promise<void>((resolve) => call?.onEnd(() => resolve())).then(ended.resolve),
          expect(client.getWorkspace({}, { timeoutMs: 60_000 })).rejects.toMatchObject({ name: 'RmsError' }),
        ]);
        return {};
      },
      getWorkspace: async (_, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        nested.resolve();
        return {};
      },
    });
    await expect(client.createWorkspace({}, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'timeout' });
    await Promise.all([ended.promise, nested.promise]);
  });

  test('work that outlives its handler is in a closed scope, which does not end', async () => {
    const scopes: ReturnType<typeof currentCall>[] = [];
    const { client } = await start({
      createWorkspace: async () => {
        scopes.push(currentCall());
        return {};
      },
    });
    await client.createWorkspace({});
    expect(scopes).toEqual([expect.any(CallScope)]);
    scopes[0]?.end(new Error('late'));
    scopes[0]?.check();
  });

  test("the client's default timeout applies to calls without a timeout", async () => {
    const { client } = await start({ createWorkspace: () => new Promise(() => {}) }, { timeoutMs: 100 });
    await expect(client.createWorkspace({})).rejects.toMatchObject({ code: 'timeout' });
  });

  test("an abort by the caller ends the call, and aborts the handler's signal", async () => {
    const entered = signaled();
    const aborted = signaled();
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

  test.each([
    { way: 'is canceled', signal: true, code: 'canceled', errors: 0 },
    { way: 'reaches its deadline', signal: false, code: 'timeout', errors: 1 },
  ])('a call that $way is reported as $code', async ({ signal, code, errors }) => {
    const codes: string[] = [];
    const reported = signaled();
    const { client, logged } = await start(
      {
        createWorkspace: (_, context) =>
          new Promise((_resolve, reject) => {
            context.signal.addEventListener('abort', () => reject(context.signal.reason));
          }),
      },
      {
        onCall: (call) => {
          codes.push(call.code);
          reported.resolve();
        },
      },
    );
    const end = signal ? { signal: AbortSignal.timeout(200) } : { timeoutMs: 200 };
    await expect(client.createWorkspace({}, end)).rejects.toBeInstanceOf(RmsError);
    await reported.promise;
    expect([codes, logged.length]).toEqual([[code], errors]);
  });

  test('a signal that has aborted before the call ends it immediately', async () => {
    const { client } = await start({ createWorkspace: () => new Promise(() => {}) });
    const call = client.createWorkspace({}, { signal: AbortSignal.abort() });
    await expect(call).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  test('a handler that reads its signal late sees the cancellation', async () => {
    const entered = signaled();
    const lookup = signaled();
    const seen = signaled<boolean>();
    const { client } = await start({
      createWorkspace: async (_, context) => {
        entered.resolve();
        await lookup.promise;
        seen.resolve(context.signal.aborted);
        return {};
      },
    });
    const abort = new AbortController();
    const call = client.createWorkspace({}, { signal: abort.signal });
    await entered.promise;
    abort.abort();
    await expect(call).rejects.toBeInstanceOf(RmsError);
    // When a second call on the same connection returns, the server has read the first call's cancellation.
    await client.listWorkspaces({});
    lookup.resolve();
    expect(await seen.promise).toBe(true);
  });

  test('closing a client lets its calls in flight finish', async () => {
    const entered = signaled();
    const response = signaled();
    const { client } = await start({
      createWorkspace: async () => {
        entered.resolve();
        await response.promise;
        return { workspace: { name: 'finished' } };
      },
    });
    const call = client.createWorkspace({});
    await entered.promise;
    client.close();
    response.resolve();
    expect((await call).workspace?.name).toBe('finished');
  });

  test('a message of several MiB is accepted', async () => {
    const { client } = await start();
    const name = 'x'.repeat(8 * 1024 * 1024);
    const { workspace } = await client.createWorkspace({ name });
    expect(workspace?.name.length).toBe(name.length);
  });

  test.each(['request', 'response'])('a %s of more than 64 MiB is refused', async (side) => {
    const name = 'x'.repeat(64 * 1024 * 1024);
    let calls = 0;
    const { client } = await start({
      createWorkspace: async () => {
        calls += 1;
        return { workspace: { name } };
      },
    });
    const call = client.createWorkspace(side === 'request' ? { name } : {});
    await expect(call).rejects.toMatchObject({ code: 'service_unavailable', cause: { code: 8 } });
    expect(calls).toBe(side === 'request' ? 0 : 1);
  });

  test('caller and handler share no object', async () => {
    const seen: unknown[] = [];
    const principal = { workspaceId: 'ws_1', environment: Environment.LIVE, keyId: 'key_1', scope: Scope.READ };
    const workspace = { id: 'ws_1', name: 'as returned' };
    const { client } = await start({
      createWorkspace: async (request, context) => {
        seen.push(request, context.principal);
        request.name = 'changed';
        return { workspace };
      },
    });
    const request = { name: 'as sent' };
    const response = await client.createWorkspace(request, { context: { principal } });
    if (response.workspace) response.workspace.name = 'changed';
    expect([request.name, workspace.name]).toEqual(['as sent', 'as returned']);
    expect(seen[0]).not.toBe(request);
    expect(seen[1]).not.toBe(principal);
  });

  test('the handler starts after the caller has continued, in no call of the caller', async () => {
    const order: string[] = [];
    let scope: unknown;
    const { client } = await start({
      createWorkspace: async () => {
        order.push('handler');
        scope = currentCall();
        return {};
      },
    });
    const outer = new CallScope('ws_outer');
    const call = inCall(outer, () => client.createWorkspace({}));
    order.push('caller');
    await call;
    expect(order).toEqual(['caller', 'handler']);
    expect(scope).not.toBe(outer);
  });
});
