import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import {
  type ClientOptions,
  createClient,
  type Handlers,
  type RpcClient,
  type RpcServer,
  rpcService,
  type ServeOptions,
  serve,
} from '@rms/rpc';
import { freePort } from '@rms/testkit';

type WorkspacesHandlers = Handlers<typeof WorkspacesService>;

export interface LoggedError {
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export interface WorkspacesServer {
  readonly server: RpcServer;
  readonly client: RpcClient<typeof WorkspacesService>;
  readonly logged: LoggedError[];
  stop(): Promise<void>;
}

/** How a client reaches a server: by gRPC over loopback, or in the same process. Both must behave the same. */
export const transports = ['gRPC', 'local'] as const;

export function targetOf(server: RpcServer, transport: (typeof transports)[number]): string {
  return transport === 'local' ? server.localAddress : server.address;
}

/** Starts a server with a small service. By default, CreateWorkspace returns the name that it received. */
export async function startWorkspaces(
  handlers: Partial<WorkspacesHandlers> = {},
  {
    host = '127.0.0.1',
    port,
    timeoutMs = 20_000,
    onClientCall,
    transport = 'gRPC',
    ...further
  }: {
    host?: string;
    port?: number;
    timeoutMs?: number;
    onClientCall?: ClientOptions['onCall'];
    transport?: (typeof transports)[number];
  } & Pick<ServeOptions, 'security' | 'callers' | 'onCall' | 'translateError'> = {},
): Promise<WorkspacesServer> {
  const logged: LoggedError[] = [];
  const server = await serve({
    host,
    // A port that no server of this process has used: clients share the connection state of an address, including
    // failures.
    port: port ?? (await freePort()),
    log: {
      error: (fields, message) => void logged.push({ fields: fields as Record<string, unknown>, message }),
      debug: () => {},
      warn: (fields, message) => void logged.push({ fields: fields as Record<string, unknown>, message }),
    },
    ...further,
    services: [
      rpcService(WorkspacesService, {
        createWorkspace: async ({ name }) => ({ workspace: { id: 'ws_1', name } }),
        listWorkspaces: async () => ({ workspaces: [] }),
        getWorkspace: async () => ({}),
        bootstrapWorkspace: async () => ({ created: false }),
        setWorkspacePlan: async () => ({}),
        ...handlers,
      }),
    ],
  });
  const client = createClient(WorkspacesService, {
    target: targetOf(server, transport),
    timeoutMs,
    onCall: onClientCall,
    ...(further.security ? { security: further.security } : {}),
  });
  return {
    server,
    client,
    logged,
    async stop() {
      client.close();
      await server.stop(0);
    },
  };
}

/** Creates a promise and the function that resolves it. */
export function signaled<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
