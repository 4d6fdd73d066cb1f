import { Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { type ErrorCode, errorKinds, RmsError } from '@rms/base/errors';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { codeOf, createClient, fromStatusMessage, toStatusMessage } from '@rms/rpc';
import { grpcStatuses } from '../src/errors.ts';
import { startWorkspaces, transports, type WorkspacesServer } from './workspaces-server.ts';

const codes = Object.keys(errorKinds) as ErrorCode[];

describe.each(transports)('Errors by %s', (transport) => {
  let workspaces: WorkspacesServer;
  let failure: unknown;
  beforeAll(async () => {
    workspaces = await startWorkspaces(
      {
        createWorkspace: async () => {
          throw failure;
        },
        // Not async: it throws before it returns a promise.
        listWorkspaces: () => {
          throw failure;
        },
      },
      { transport },
    );
  });
  afterAll(() => workspaces.stop());

  const failWith = async (error: unknown, method: 'createWorkspace' | 'listWorkspaces' = 'createWorkspace') => {
    failure = error;
    return workspaces.client[method]({}).then(
      () => {
        throw new Error('the call succeeded');
      },
      (received: RmsError) => received,
    );
  };

  test.each(codes)('%s arrives with its code, message, details and retry time', async (code) => {
    const sent = new RmsError(code, {
      message: 'What exactly',
      details: [{ field: 'metadata.größe', message: 'is too long' }],
      retryAfterSeconds: 2.5,
    });
    const received = await failWith(sent);
    expect(received).toBeInstanceOf(RmsError);
    expect(received).toMatchObject({
      code,
      message: 'What exactly',
      details: [{ field: 'metadata.größe', message: 'is too long' }],
      retryAfterSeconds: 2.5,
    });
    expect(received.cause).toMatchObject({ code: grpcStatuses[code] });
    expect(grpcStatuses[code]).not.toBe(status.OK);
  });

  test.each(codes)('%s survives as the status of a batch item', (code) => {
    const received = fromStatusMessage(toStatusMessage(new RmsError(code)));
    expect(received).toMatchObject({ code, message: errorKinds[code].message, details: [] });
    expect(received.retryAfterSeconds).toBeUndefined();
  });

  test.each([
    ['an Error', new Error('password=hunter2 at db.internal')],
    ['a text', 'password=hunter2'],
    ['undefined', undefined],
  ])('%s thrown by a handler becomes internal_error without its message', async (_, thrown) => {
    const received = await failWith(thrown);
    expect(received).toMatchObject({ code: 'internal_error', message: errorKinds.internal_error.message });
    expect(JSON.stringify([received.message, (received.cause as Error).message])).not.toContain('hunter2');
    expect(workspaces.logged.at(-1)?.fields).toMatchObject({ err: thrown, code: 'internal_error' });
  });

  test('translateError translates the errors of handlers before they are logged and sent', async () => {
    const translateError = (cause: unknown) => new RmsError('service_unavailable', { cause });
    const lost = new Error('connection lost');
    const fail = () => {
      throw lost;
    };
    const codes: string[] = [];
    const translating = await startWorkspaces(
      { createWorkspace: async () => fail(), listWorkspaces: fail },
      { transport, translateError, onCall: ({ code }) => void codes.push(code) },
    );
    try {
      const { client } = translating;
      for (const call of [() => client.createWorkspace({}), () => client.listWorkspaces({})]) {
        await expect(call()).rejects.toMatchObject({ code: 'service_unavailable' });
      }
      expect(translating.logged.map(({ fields }) => (fields.err as Error).cause)).toEqual([lost, lost]);
      expect(codes).toEqual(['service_unavailable', 'service_unavailable']);
    } finally {
      await translating.stop();
    }
  });

  test('a handler that throws synchronously returns an error, too', async () => {
    expect(await failWith(new RmsError('conflict'), 'listWorkspaces')).toMatchObject({ code: 'conflict' });
  });

  test('client errors are not logged as server errors', async () => {
    const before = workspaces.logged.length;
    await failWith(new RmsError('invalid_request'));
    expect(workspaces.logged.length).toBe(before);
  });

  test('a request that cannot be encoded is an internal_error without details', async () => {
    const name = Object.create(null) as string; // cannot be converted to a string
    const received = await workspaces.client.bootstrapWorkspace({ name }).catch((error) => error);
    expect(received).toMatchObject({ code: 'internal_error', message: errorKinds.internal_error.message });
  });
});

describe('Errors over a connection', () => {
  test('an unreachable server is service_unavailable', async () => {
    const client = createClient(WorkspacesService, { target: '127.0.0.1:1', timeoutMs: 60_000 });
    await expect(client.listWorkspaces({})).rejects.toMatchObject({ code: 'service_unavailable' });
    client.close();
  });

  test('a closed client returns service_unavailable', async () => {
    const client = createClient(WorkspacesService, { target: '127.0.0.1:1', timeoutMs: 60_000 });
    client.close();
    await expect(client.listWorkspaces({})).rejects.toMatchObject({ code: 'service_unavailable' });
  });

  test('details that are not a google.rpc.Status are ignored', async () => {
    const foreign = new Server();
    const metadata = new Metadata();
    metadata.set('grpc-status-details-bin', Buffer.from([0xff, 0xff, 0xff]));
    foreign.register(
      '/rms.auth.v1.WorkspacesService/ListWorkspaces',
      (_: unknown, respond: (error: object) => void) =>
        respond({ code: status.NOT_FOUND, details: 'internal text', metadata }),
      (value: Buffer) => value,
      (bytes: Buffer) => bytes,
      'unary',
    );
    const port = await new Promise<number>((resolve, reject) => {
      foreign.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    const client = createClient(WorkspacesService, { target: `127.0.0.1:${port}`, timeoutMs: 60_000 });
    const received = await client.listWorkspaces({}).catch((error: RmsError) => error);
    expect(received).toMatchObject({ code: 'not_found', message: errorKinds.not_found.message });
    client.close();
    foreign.forceShutdown();
  });

  test.each([
    [status.UNAVAILABLE, 'service_unavailable'],
    [status.CANCELLED, 'service_unavailable'],
    [status.RESOURCE_EXHAUSTED, 'service_unavailable'],
    [status.DEADLINE_EXCEEDED, 'timeout'],
    [status.NOT_FOUND, 'not_found'],
    [status.INVALID_ARGUMENT, 'invalid_request'],
    [status.ABORTED, 'conflict'],
    [status.UNKNOWN, 'internal_error'],
    [status.UNIMPLEMENTED, 'internal_error'],
    [status.DATA_LOSS, 'internal_error'],
  ])('the bare gRPC status %i maps to %s', (grpcStatus, code) => {
    expect(codeOf(grpcStatus)).toBe(code);
  });
});
