import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import {
  status as grpcStatus,
  Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  type StatusObject,
  type sendUnaryData,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { maxMessageBytes } from './wire.ts';

/**
 * Calls between services in one process, without a connection. Messages are encoded and decoded as over gRPC, so that
 * caller and handler share no object and the same requests are refused.
 */

/** Methods by name, like a grpc-js client's. */
export type RawClient = { close(): void } & Record<string, unknown>;
export type RawUnary = (
  request: unknown,
  metadata: Metadata,
  options: { deadline: number },
  callback: (error: ServiceError | null, response: unknown) => void,
) => { cancel(): void };
export type RawStream = (
  request: unknown,
  metadata: Metadata,
  options: { deadline: number },
) => AsyncIterable<unknown> & { cancel(): void; on(event: 'error', listener: () => void): unknown };

const prefix = 'local:';

/** The servers of this process, by local address. */
const servers = new Map<string, LocalServer>();

type Definition = MethodDefinition<unknown, unknown>;
type Handler = (call: LocalCall, respond?: sendUnaryData<unknown>) => void;

/** Whether a target is a local address. */
export function isLocal(target: string): boolean {
  return target.startsWith(prefix);
}

/** Creates the methods of a {@link LocalServer} client. */
export function createLocalClient(definition: ServiceDefinition, target: string): RawClient {
  const send = (method: Definition, request: unknown, metadata: Metadata, deadline: number) => {
    const encoded = method.requestSerialize(request);
    return new LocalCall(servers.get(target), { method, encoded, metadata, deadline });
  };
  const unary =
    (method: Definition): RawUnary =>
    (request, metadata, { deadline }, callback) => {
      const call = send(method, request, metadata, deadline);
      call.whenEnded((failure, [response]) => callback(failure, response));
      return call;
    };
  const stream =
    (method: Definition): RawStream =>
    (request, metadata, { deadline }) =>
      send(method, request, metadata, deadline);
  const methods = Object.entries<Definition>(definition).map(([name, method]) => {
    return [name, method.responseStream ? stream(method) : unary(method)];
  });
  return { ...Object.fromEntries(methods), close() {} };
}

/** The handlers that clients of the same process call without a connection. */
export class LocalServer {
  readonly #handlers = new Map<string, Handler>();
  readonly #calls = new Set<LocalCall>();
  /** Handlers inherit nothing from their callers: neither spans nor the call that the caller is serving. */
  readonly #asServer = AsyncLocalStorage.snapshot();
  #address: string | undefined;
  #onEmpty = () => {};

  addService(definition: ServiceDefinition, implementation: UntypedServiceImplementation): void {
    for (const [name, { path }] of Object.entries<Definition>(definition)) {
      this.#handlers.set(path, implementation[name] as unknown as Handler);
    }
  }

  /** Accepts calls. Returns the local address of a server at "host:port". */
  open(address: string): string {
    this.#address = prefix + address;
    servers.set(this.#address, this);
    return this.#address;
  }

  handle(call: LocalCall, path: string): void {
    const handler = this.#handlers.get(path);
    if (!handler) {
      call.fail(grpcStatus.UNIMPLEMENTED, `The server does not implement the method ${path}`);
      return;
    }
    this.#calls.add(call);
    // As over a connection, the caller continues before the handler starts, and may cancel the call first.
    queueMicrotask(() => {
      if (!call.cancelled) this.#asServer(() => handler(call, call.respond));
    });
  }

  ended(call: LocalCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#onEmpty();
  }

  /** Refuses further calls, and ends those in flight after `graceMs`. Resolves when none is in flight. */
  async stop(graceMs: number): Promise<void> {
    if (this.#address && servers.get(this.#address) === this) servers.delete(this.#address);
    if (this.#calls.size === 0) return;
    const force = setTimeout(() => {
      for (const call of this.#calls) call.fail(grpcStatus.UNAVAILABLE, 'The server has stopped');
    }, graceMs);
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
    clearTimeout(force);
  }
}

interface Sent {
  readonly method: Definition;
  readonly encoded: Buffer;
  readonly metadata: Metadata;
  /** In milliseconds since 1970. */
  readonly deadline: number;
}

/**
 * A call, with the methods that handlers use of grpc-js' calls, and those that client.ts uses. It ends once: with a
 * response, at the end of a stream, or with a failure.
 */
class LocalCall extends EventEmitter {
  readonly request: unknown;
  readonly metadata: Metadata;
  cancelled = false;
  readonly #method: Definition;
  readonly #deadline: number;
  readonly #timer: NodeJS.Timeout;
  readonly #server: LocalServer | undefined;
  #unread: unknown[] = [];
  #failure: ServiceError | null = null;
  #isEnded = false;

  constructor(server: LocalServer | undefined, { method, encoded, metadata, deadline }: Sent) {
    super();
    this.metadata = metadata;
    this.#method = method;
    this.#deadline = deadline;
    this.#server = server;
    this.#timer = setTimeout(
      () => this.fail(grpcStatus.DEADLINE_EXCEEDED, 'Deadline exceeded'),
      Math.max(0, deadline - Date.now()),
    );
    // What a handler emits instead of a response.
    this.on('error', (status: StatusObject) => this.#end(errorOf(status)));
    if (!server) this.fail(grpcStatus.UNAVAILABLE, 'No server of this process has this address');
    else if (isTooLong(encoded)) this.fail(grpcStatus.RESOURCE_EXHAUSTED, tooLong);
    else {
      this.request = method.requestDeserialize(encoded);
      server.handle(this, method.path);
    }
  }

  readonly respond: sendUnaryData<unknown> = (failure, response) => {
    if (failure) return this.#end(errorOf(failure as Partial<StatusObject>));
    this.write(response);
    this.end();
  };

  /** Returns false: a handler that sends more waits for 'drain', until the reader has taken this response. */
  write(response: unknown): boolean {
    if (this.#isEnded) return false;
    try {
      const encoded = this.#method.responseSerialize(response);
      if (isTooLong(encoded)) this.fail(grpcStatus.RESOURCE_EXHAUSTED, tooLong);
      else this.#unread.push(this.#method.responseDeserialize(encoded));
    } catch (error) {
      this.fail(grpcStatus.INTERNAL, `The response cannot be encoded: ${(error as Error).message}`);
    }
    this.emit('readable');
    return false;
  }

  end(): void {
    this.#end(null);
  }

  cancel(): void {
    this.fail(grpcStatus.CANCELLED, 'Cancelled on client');
  }

  /** Ends the call on both sides. Responses that the reader has not taken are dropped. */
  fail(code: grpcStatus, details: string): void {
    if (this.#isEnded) return;
    this.cancelled = true;
    this.#unread = [];
    this.#end(errorOf({ code, details }));
    this.emit('cancelled');
  }

  /** Calls `listener` at the end, never before it has returned, with the failure and the responses. */
  whenEnded(listener: (failure: ServiceError | null, responses: readonly unknown[]) => void): void {
    const report = () => listener(this.#failure, this.#unread);
    if (this.#isEnded) queueMicrotask(report);
    else this.once('ended', report);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    for (;;) {
      while (this.#unread.length > 0) {
        yield this.#unread.shift();
        this.emit('drain');
      }
      if (this.#failure) throw this.#failure;
      if (this.#isEnded) return;
      await new Promise<void>((resolve) => this.once('readable', resolve));
    }
  }

  getDeadline(): number {
    return this.#deadline;
  }

  getPeer(): string {
    return 'this process';
  }

  /** Callers of this process have no certificate. */
  getAuthContext(): Record<string, never> {
    return {};
  }

  #end(failure: ServiceError | null): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#failure = failure;
    clearTimeout(this.#timer);
    this.#server?.ended(this);
    this.emit('readable');
    this.emit('ended');
  }
}

const tooLong = `A message is longer than ${maxMessageBytes} bytes`;

function isTooLong(encoded: Buffer): boolean {
  return encoded.length > maxMessageBytes;
}

function errorOf({ code = grpcStatus.UNKNOWN, details = '', metadata = new Metadata() }: Partial<StatusObject>) {
  return Object.assign(new Error(`${code} ${grpcStatus[code]}: ${details}`), { code, details, metadata });
}
