import { once } from 'node:events';
import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import type {
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { CallScope, inCall } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Principal } from '@rms/proto/rms/common/v1/common_pb';
import type { CallerCheck } from './callers.ts';
import { toGrpcStatus } from './errors.ts';
import { serveInTrace } from './spans.ts';
import { type AnyService, contextFromMetadata, toServiceDefinition } from './wire.ts';

type Request<M extends DescMethod> = MessageShape<M['input']>;
type Response<M extends DescMethod> = MessageInitShape<M['output']>;

type Handler<M extends DescMethod> = M['methodKind'] extends 'unary'
  ? (request: Request<M>, context: RpcContext) => Promise<Response<M>>
  : M['methodKind'] extends 'server_streaming'
    ? (request: Request<M>, context: RpcContext) => AsyncIterable<Response<M>>
    : never;

/** One handler per method of a service. */
export type Handlers<S extends AnyService> = { [Name in keyof S['method']]: Handler<S['method'][Name]> };

/** A service with its handlers, ready for {@link serve}. */
export interface RpcService {
  readonly service: AnyService;
  addTo(server: Pick<Server, 'addService'>, hooks: ServerHooks): void;
}

/** Callbacks of a server for the calls of its services. */
export interface ServerHooks {
  /** Translates an error that a handler throws. */
  translateError(error: unknown): unknown;
  onError(error: unknown, context: RpcContext): void;
  /** Called after the response. */
  onEnd(context: RpcContext, error: unknown, startedAtMs: number): void;
  /** Undefined: every caller is permitted. */
  readonly checkCaller?: CallerCheck | undefined;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
}

type AnyHandler = (request: unknown, context: RpcContext) => Promise<unknown> | AsyncIterable<unknown>;
type AnyCall = ServerUnaryCall<unknown, unknown> & ServerWritableStream<unknown, unknown>;

/**
 * Combines a service descriptor with its handlers. The compiler checks that all handlers exist and have the right
 * types.
 */
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
  { translateError, onError, onEnd, checkCaller, stopping }: ServerHooks,
): UntypedHandleCall {
  const name = `${service.typeName}/${method.name}`;
  const translated = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw translateError(error);
    }
  };

  if (method.methodKind === 'unary') {
    const unary = async (call: AnyCall, respond: sendUnaryData<unknown>) => {
      const startedAtMs = performance.now();
      const context = new RpcContext(call, name, stopping);
      try {
        checkCaller?.(name, call, context);
        const work = () => context.run(() => handler(call.request, context) as Promise<unknown>);
        respond(null, await serveInTrace(context, () => translated(work)));
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
    const context = new RpcContext(call, name, stopping);
    try {
      checkCaller?.(name, call, context);
      const write = () => writeAll(call, handler(call.request, context) as AsyncIterable<unknown>, context.signal);
      await translated(() => context.run(write));
      onEnd(context, undefined, startedAtMs);
    } catch (error) {
      onError(error, context);
      // With destroy(error), grpc-js would send no trailers and the client would hang until its deadline.
      call.emit('error', toGrpcStatus(error));
      onEnd(context, error, startedAtMs);
    }
  };
  return streaming as unknown as UntypedHandleCall;
}

/** At its deadline, a caller also cancels the call, and its clock may be a little earlier. */
const deadlineToleranceMs = 500;

/** Context of a call for its handler. Creates its signal on first use, because most handlers only use the scope. */
export class RpcContext {
  readonly requestId: string;
  readonly traceparent: string;
  readonly tracestate: string;
  declare readonly principal?: Principal | undefined;
  readonly clientAddress: string;
  readonly actor: string;
  readonly actorName: string;
  /** "package.Service/Method". */
  readonly method: string;
  /** Aborts when the server stops: an endless stream must end then, or it delays the shutdown. */
  readonly stopping: AbortSignal;
  readonly #scope: CallScope;
  readonly #call: AnyCall;
  #abort: AbortController | undefined;

  constructor(call: AnyCall, method: string, stopping: AbortSignal) {
    this.#call = call;
    this.method = method;
    this.stopping = stopping;
    const { requestId, traceparent, tracestate, principal, clientAddress, actor, actorName } = contextFromMetadata(
      call.metadata,
    );
    this.requestId = requestId;
    this.traceparent = traceparent;
    this.tracestate = tracestate;
    this.clientAddress = clientAddress;
    this.actor = actor;
    this.actorName = actorName;
    if (principal) this.principal = principal;
    this.#scope = new CallScope(workspaceOf(call.request) || principal?.workspaceId);
    const end = () =>
      this.#scope.end(new RmsError('timeout', { cause: new Error('the call was canceled or its deadline passed') }));
    // grpc-js also emits this event when the deadline passes.
    if (call.cancelled) end();
    else call.once('cancelled', end);
  }

  /** Runs the handler. Its statements and calls end if the call ends before it returns. */
  async run<T>(handle: () => Promise<T>): Promise<T> {
    try {
      return await inCall(this.#scope, handle);
    } finally {
      this.#scope.close();
    }
  }

  /** Aborts when the caller cancels or its deadline passes. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      const abort = new AbortController();
      this.#scope.onEnd((reason) => abort.abort(reason));
      this.#abort = abort;
    }
    return this.#abort.signal;
  }

  /** Request ID of the call, or the IDs of batch items, which have their own contexts. */
  get requestIds(): readonly string[] {
    return this.requestId === '' ? requestIdsOfItems(this.#call.request) : [this.requestId];
  }

  get deadline(): Date | undefined {
    const deadline = this.#call.getDeadline();
    if (deadline instanceof Date) return deadline;
    return Number.isFinite(deadline) ? new Date(deadline) : undefined;
  }

  /** Whether the caller has canceled the call long before its deadline: no caller is waiting for the response. */
  get isCanceled(): boolean {
    return this.#call.cancelled && !(this.deadline && this.deadline.getTime() - Date.now() < deadlineToleranceMs);
  }

  /** Address of the caller. */
  get peer(): string {
    return this.#call.getPeer();
  }
}

/** Returns the workspace that a request names; empty for a batch, because its items may have several. */
function workspaceOf(request: unknown): string {
  const { workspaceId, context } = (request ?? {}) as {
    workspaceId?: string;
    context?: { readonly principal?: { readonly workspaceId?: string } };
  };
  return workspaceId || context?.principal?.workspaceId || '';
}

/** Returns the distinct request IDs of a batch with its items in `requests`. */
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
