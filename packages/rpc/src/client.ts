import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { type ChannelOptions, makeGenericClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { currentCall } from '@rms/async';
import { activeSpans, activeTraceContext, rpcAttributes, spanKind, traced } from '@rms/async/tracing';
import { RmsError } from '@rms/base/errors';
import type { CallContextSchema } from '@rms/proto/rms/common/v1/common_pb';
import { fromServiceError } from './errors.ts';
import { createLocalClient, isLocal, type RawClient, type RawStream, type RawUnary } from './local.ts';
import type { EndedCall } from './metrics.ts';
import { loopbackOnly, type RpcSecurity } from './security.ts';
import { type AnyService, contextToMetadata, maxMessageBytes, toServiceDefinition, withToken } from './wire.ts';

export interface CallOptions {
  /** Sent in metadata. */
  readonly context?: MessageInitShape<typeof CallContextSchema> | undefined;
  /** Timeout of the call; the client's default if unset. */
  readonly timeoutMs?: number | undefined;
  /** Cancels the call. It is also canceled when the call that this process is serving ends. */
  readonly signal?: AbortSignal | undefined;
}

type Input<M extends DescMethod> = MessageInitShape<M['input']>;
type Output<M extends DescMethod> = MessageShape<M['output']>;

type Method<M extends DescMethod> = M['methodKind'] extends 'unary'
  ? (request: Input<M>, options?: CallOptions) => Promise<Output<M>>
  : M['methodKind'] extends 'server_streaming'
    ? (request: Input<M>, options?: CallOptions) => AsyncIterable<Output<M>>
    : never;

/** A typed client: one function per unary or server-streaming method. All reject with RmsError. */
export type RpcClient<S extends AnyService> = { readonly [Name in keyof S['method']]: Method<S['method'][Name]> } & {
  /** Closes the connections once calls in flight have completed; later calls reject with `service_unavailable`. */
  close(): void;
};

export interface ClientOptions {
  /**
   * "host:port", or "dns:///name:port" to balance the load across a headless service's addresses, or the local address
   * of a server of this process.
   */
  readonly target: string;
  /** Default timeout of a call. */
  readonly timeoutMs: number;
  /** Default: plaintext, to loopback only. */
  readonly security?: RpcSecurity;
  /** Context of calls without their own `context`. */
  readonly context?: MessageInitShape<typeof CallContextSchema>;
  /** Called after each call. */
  readonly onCall?: ((call: EndedCall) => void) | undefined;
}

const channelOptions: ChannelOptions = {
  // Services call each other directly. grpc-js would otherwise use grpc_proxy, https_proxy and http_proxy.
  'grpc.enable_http_proxy': 0,
  // A headless service resolves to every pod; pick_first would send every call to the same pod.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  // Maximum delay until a recovered service is reached; until then, calls to it fail immediately.
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  'grpc.max_receive_message_length': maxMessageBytes,
};

/** Creates a service client. It connects at the first call and reconnects automatically. */
export function createClient<S extends AnyService>(service: S, options: ClientOptions): RpcClient<S> {
  const { target, timeoutMs, security = loopbackOnly, onCall } = options;
  const methodNames = new Map(service.methods.map((one) => [one.localName, `${service.typeName}/${one.name}`]));
  const definition = toServiceDefinition(service);
  const raw = isLocal(target) ? createLocalClient(definition, target) : connect(definition, service.typeName, options);
  let closed = false;
  const methodOf = <T extends RawUnary | RawStream>(name: string): T => {
    if (closed) throw new RmsError('service_unavailable', { cause: new Error('the client is closed') });
    return (raw[name] as RawUnary).bind(raw) as T;
  };
  const ended = (name: string, error: unknown, startedAtMs: number) => {
    if (!onCall) return;
    const code = error ? fromServiceError(error).code : 'ok';
    onCall({ method: methodNames.get(name) ?? name, code, durationMs: performance.now() - startedAtMs });
  };
  const metadataOf = (call: CallOptions) =>
    withToken(contextToMetadata(call.context ?? options.context), security.token);
  const deadlineOf = (call: CallOptions) => ({ deadline: Date.now() + (call.timeoutMs ?? timeoutMs) });

  const send =
    (name: string) =>
    (request: unknown, call: CallOptions = {}) =>
      new Promise<unknown>((resolve, reject) => {
        let unlink = () => {};
        const startedAtMs = performance.now();
        try {
          const method = methodOf<RawUnary>(name);
          const grpcCall = method(request, metadataOf(call), deadlineOf(call), (error, response) => {
            unlink();
            ended(name, error, startedAtMs);
            if (error) reject(fromServiceError(error));
            else resolve(response);
          });
          unlink = cancelOnAbort(grpcCall, call.signal);
        } catch (error) {
          ended(name, error, startedAtMs);
          reject(fromServiceError(error));
        }
      });

  const unary = (name: string, method: string) => {
    const sendIt = send(name);
    const step = { name: method, kind: spanKind.client, attributes: rpcAttributes(method) };
    return (request: unknown, call: CallOptions = {}) => {
      if (activeSpans().length === 0) return sendIt(request, call);
      return traced(
        () => step,
        () => {
          const context = { ...(call.context ?? options.context), ...activeTraceContext() };
          return sendIt(request, { ...call, context });
        },
      );
    };
  };

  const serverStreaming = (name: string) =>
    async function* (request: unknown, call: CallOptions = {}) {
      let stream: ReturnType<RawStream> | undefined;
      let unlink = () => {};
      let failure: unknown;
      const startedAtMs = performance.now();
      try {
        const method = methodOf<RawStream>(name);
        stream = method(request, metadataOf(call), deadlineOf(call));
        // The cancellation below emits an error after the reader has stopped.
        stream.on('error', () => {});
        unlink = cancelOnAbort(stream, call.signal);
        yield* stream;
      } catch (error) {
        failure = error;
        throw fromServiceError(error);
      } finally {
        ended(name, failure, startedAtMs);
        unlink();
        stream?.cancel(); // cancels the call if the reader stops early
      }
    };

  const client: Record<string, unknown> = {
    close() {
      closed = true;
      raw.close();
    },
  };
  for (const method of service.methods) {
    if (method.methodKind === 'unary')
      client[method.localName] = unary(method.localName, `${service.typeName}/${method.name}`);
    else if (method.methodKind === 'server_streaming') client[method.localName] = serverStreaming(method.localName);
  }
  return client as RpcClient<S>;
}

function connect(definition: ServiceDefinition, name: string, { target, security = loopbackOnly }: ClientOptions) {
  const Constructor = makeGenericClientConstructor(definition, name);
  return new Constructor(target, security.channelCredentials(target), channelOptions) as unknown as RawClient;
}

/** Cancels the call when the signal aborts, or when the call that this process is serving ends. Returns an unlink. */
function cancelOnAbort(call: { cancel(): void }, signal: AbortSignal | undefined): () => void {
  const cancel = () => call.cancel();
  const leave = currentCall()?.onEnd(cancel);
  if (signal?.aborted) cancel();
  else signal?.addEventListener('abort', cancel, { once: true });
  return () => {
    leave?.();
    signal?.removeEventListener('abort', cancel);
  };
}
