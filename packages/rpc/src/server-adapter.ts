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
import { type CallContext, contextFromMetadata } from './call-context.ts';
import { toGrpcStatus } from './error-mapping.ts';
import { type AnyService, toServiceDefinition } from './service-definition.ts';

/** What a handler knows of its call besides the request. */
export interface RpcContext extends Pick<CallContext, 'requestId' | 'traceparent' | 'principal'> {
  /** Aborts when the caller cancels or its deadline passes. */
  readonly signal: AbortSignal;
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
  addTo(server: Server, onError: (error: unknown, context: RpcContext) => void): void;
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
    addTo(server, onError) {
      const implementation: UntypedServiceImplementation = {};
      for (const method of service.methods) {
        const handler = (handlers as Record<string, AnyHandler>)[method.localName];
        if (!handler) throw new Error(`${service.typeName}/${method.name} has no handler`);
        implementation[method.localName] = toGrpcHandler(service, method, handler.bind(handlers), onError);
      }
      server.addService(toServiceDefinition(service), implementation);
    },
  };
}

function toGrpcHandler(
  service: AnyService,
  method: DescMethod,
  handler: AnyHandler,
  onError: (error: unknown, context: RpcContext) => void,
): UntypedHandleCall {
  const name = `${service.typeName}/${method.name}`;
  const streamsIn = method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
  const requestOf = (call: AnyCall) => (streamsIn ? requestsOf(call) : call.request);

  if (method.methodKind === 'unary' || method.methodKind === 'client_streaming') {
    const unary = (call: AnyCall, respond: sendUnaryData<unknown>) => {
      const context = contextOf(call, name);
      (handler(requestOf(call), context) as Promise<unknown>).then(
        (response) => respond(null, response),
        (error: unknown) => {
          onError(error, context);
          respond(toGrpcStatus(error));
        },
      );
    };
    return unary as UntypedHandleCall;
  }
  const streaming = (call: AnyCall) => {
    const context = contextOf(call, name);
    writeAll(call, handler(requestOf(call), context) as AsyncIterable<unknown>, context.signal).catch(
      (error: unknown) => {
        onError(error, context);
        // Not destroy(error): grpc-js would then send no trailers and the client would hang to its deadline.
        call.emit('error', toGrpcStatus(error));
      },
    );
  };
  return streaming as unknown as UntypedHandleCall;
}

// A plain `for await (… of call)` destroys a duplex call when the client half-closes: trailers would never be sent.
function requestsOf(call: AnyCall): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => call.iterator({ destroyOnReturn: false }) as AsyncIterator<unknown> };
}

function contextOf(call: AnyCall, method: string): RpcContext {
  const abort = new AbortController();
  // grpc-js emits it for a passed deadline, too.
  call.once('cancelled', () => abort.abort(new RmsError('timeout', { cause: new Error('the caller is gone') })));
  const deadline = call.getDeadline();
  const { requestId, traceparent, principal } = contextFromMetadata(call.metadata);
  return {
    requestId,
    traceparent,
    ...(principal ? { principal } : {}),
    signal: abort.signal,
    deadline: deadline instanceof Date ? deadline : Number.isFinite(deadline) ? new Date(deadline) : undefined,
    peer: call.getPeer(),
    method,
  };
}

async function writeAll(call: AnyCall, responses: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
  for await (const response of responses) {
    if (signal.aborted) return;
    if (!call.write(response)) await once(call, 'drain', { signal }).catch(() => {});
  }
  call.end();
}
