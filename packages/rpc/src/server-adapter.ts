import { once } from 'node:events';
import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type {
  Server,
  ServerDuplexStream,
  ServerReadableStream,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { RmsError } from '@rms/errors';
import { type CallContext, contextFromMetadata, type Principal } from './call-context.ts';
import type { CallerCheck } from './callers.ts';
import { toGrpcStatus } from './error-mapping.ts';
import { serveInTrace } from './server-span.ts';
import { type AnyService, toServiceDefinition } from './service-definition.ts';

/** What a handler knows of its call besides the request. */
export interface RpcContext
  extends Pick<CallContext, 'requestId' | 'traceparent' | 'principal' | 'clientAddress' | 'actor'> {
  /** Of the call; or of the items of a batch, each of which has a context of its own. */
  readonly requestIds: readonly string[];
  /** Aborts when the caller cancels or its deadline passes. */
  readonly signal: AbortSignal;
  /** Aborts when the server stops: a stream without an end of its own has to end then, or it holds the server up. */
  readonly stopping: AbortSignal;
  readonly deadline: Date | undefined;
  /** The caller's address. */
  readonly peer: string;
  /** "package.Service/Method". */
  readonly method: string;
}

type Request<M extends DescMethod> = MessageShape<M['input']>;
type Response<M extends DescMethod> = MessageInitShape<M['output']>;

type Handler<M extends DescMethod> = M['methodKind'] extends 'unary'
  ? (request: Request<M>, context: RpcContext) => Promise<Response<M>>
  : M['methodKind'] extends 'server_streaming'
    ? (request: Request<M>, context: RpcContext) => AsyncIterable<Response<M>>
    : M['methodKind'] extends 'client_streaming'
      ? (requests: AsyncIterable<Request<M>>, context: RpcContext) => Promise<Response<M>>
      : (requests: AsyncIterable<Request<M>>, context: RpcContext) => AsyncIterable<Response<M>>;

/** One handler for each method of a service. */
export type Handlers<S extends AnyService> = { [Name in keyof S['method']]: Handler<S['method'][Name]> };

/** A service with its handlers, ready for {@link serve}. */
export interface RpcService {
  readonly service: AnyService;
  addTo(server: Server, hooks: ServerHooks): void;
}

/** What a server has to do with the calls of its services. */
export interface ServerHooks {
  onError(error: unknown, context: RpcContext): void;
  /** A call is over; told after its answer. */
  onEnd(context: RpcContext, error: unknown, startedAtMs: number): void;
  /** Undefined: all may call. */
  readonly checkCaller?: CallerCheck | undefined;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

type AnyHandler = (request: unknown, context: RpcContext) => Promise<unknown> | AsyncIterable<unknown>;
type AnyCall = ServerUnaryCall<unknown, unknown> &
  ServerWritableStream<unknown, unknown> &
  ServerReadableStream<unknown, unknown> &
  ServerDuplexStream<unknown, unknown>;

/** Pairs a service descriptor with handlers; the compiler checks that none is missing or of another shape. */
export function rpcService<S extends AnyService>(service: S, handlers: Handlers<S>): RpcService {
  return {
    service,
    addTo(server, hooks) {
      const implementation: UntypedServiceImplementation = {};
      for (const method of service.methods) {
        const handler = (handlers as Record<string, AnyHandler>)[method.localName];
        if (!handler) throw new Error(`${service.typeName}/${method.name} has no handler`);
        implementation[method.localName] = toGrpcHandler(service, method, handler.bind(handlers), hooks);
      }
      server.addService(toServiceDefinition(service), implementation);
    },
  };
}

function toGrpcHandler(
  service: AnyService,
  method: DescMethod,
  handler: AnyHandler,
  { onError, onEnd, checkCaller, stopping }: ServerHooks,
): UntypedHandleCall {
  const name = `${service.typeName}/${method.name}`;
  const streamsIn = method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
  const requestOf = (call: AnyCall) => (streamsIn ? requestsOf(call) : call.request);

  if (method.methodKind === 'unary' || method.methodKind === 'client_streaming') {
    const unary = async (call: AnyCall, respond: sendUnaryData<unknown>) => {
      const startedAtMs = performance.now();
      const context = new CallRpcContext(call, name, stopping);
      try {
        checkCaller?.(name, call);
        respond(null, await serveInTrace(context, () => handler(requestOf(call), context) as Promise<unknown>));
        onEnd(context, undefined, startedAtMs);
      } catch (error) {
        onError(error, context);
        respond(toGrpcStatus(error));
        onEnd(context, error, startedAtMs);
      }
    };
    return unary as unknown as UntypedHandleCall;
  }
  const streaming = async (call: AnyCall) => {
    const startedAtMs = performance.now();
    const context = new CallRpcContext(call, name, stopping);
    try {
      checkCaller?.(name, call);
      await writeAll(call, handler(requestOf(call), context) as AsyncIterable<unknown>, context.signal);
      onEnd(context, undefined, startedAtMs);
    } catch (error) {
      onError(error, context);
      // Not destroy(error): grpc-js would then send no trailers and the client would hang to its deadline.
      call.emit('error', toGrpcStatus(error));
      onEnd(context, error, startedAtMs);
    }
  };
  return streaming as unknown as UntypedHandleCall;
}

// A plain `for await (… of call)` destroys a duplex call when the client half-closes: trailers would never be sent.
function requestsOf(call: AnyCall): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) as AsyncIterator<unknown> };
}

/** Most handlers never look at their signal: it is made when one does. */
class CallRpcContext implements RpcContext {
  readonly requestId: string;
  readonly traceparent: string;
  declare readonly principal?: Principal;
  readonly clientAddress: string;
  readonly actor: string;
  readonly method: string;
  readonly stopping: AbortSignal;
  readonly #call: AnyCall;
  #abort: AbortController | undefined;

  constructor(call: AnyCall, method: string, stopping: AbortSignal) {
    this.#call = call;
    this.method = method;
    this.stopping = stopping;
    const { requestId, traceparent, principal, clientAddress, actor } = contextFromMetadata(call.metadata);
    this.requestId = requestId;
    this.traceparent = traceparent;
    this.clientAddress = clientAddress;
    this.actor = actor;
    if (principal) this.principal = principal;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      const end = () => abort.abort(new RmsError('timeout', { cause: new Error('the caller is gone') }));
      // grpc-js emits it for a passed deadline, too.
      if (this.#call.cancelled) end();
      else this.#call.once('cancelled', end);
      this.#abort = abort;
    }
    return this.#abort.signal;
  }

  get requestIds(): readonly string[] {
    return this.requestId === '' ? requestIdsOfItems(this.#call.request) : [this.requestId];
  }

  get deadline(): Date | undefined {
    const deadline = this.#call.getDeadline();
    if (deadline instanceof Date) return deadline;
    return Number.isFinite(deadline) ? new Date(deadline) : undefined;
  }

  get peer(): string {
    return this.#call.getPeer();
  }
}

/** Batches hold their items in `requests`. */
function requestIdsOfItems(batch: unknown): string[] {
  const { requests } = (batch ?? {}) as {
    requests?: readonly { readonly context?: { readonly requestId?: string } }[];
  };
  return [...new Set((requests ?? []).flatMap(({ context }) => context?.requestId || []))];
}

async function writeAll(call: AnyCall, responses: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
  for await (const response of responses) {
    if (signal.aborted) return;
    if (!call.write(response)) await once(call, 'drain', { signal }).catch(() => {});
  }
  call.end();
}
