import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import {
  type ChannelOptions,
  type Client,
  type ClientReadableStream,
  type Metadata,
  makeGenericClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { RmsError } from '@rms/errors';
import type { CallContextSchema } from '@rms/proto/rms/common/v1/common_pb';
import { activeSpans, activeTraceparent, rpcAttributes, spanKind, traced } from '@rms/tracing';
import { contextToMetadata } from './call-context.ts';
import type { EndedCall } from './call-metrics.ts';
import { fromServiceError } from './error-mapping.ts';
import { loopbackOnly, type RpcSecurity } from './security.ts';
import { type AnyService, toServiceDefinition } from './service-definition.ts';

export interface CallOptions {
  /** Travels in metadata. */
  readonly context?: MessageInitShape<typeof CallContextSchema> | undefined;
  /** How long the call may take; the client's default if unset. */
  readonly timeoutMs?: number | undefined;
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
  /** Ends the connections once the calls under way are answered; later calls reject with `service_unavailable`. */
  close(): void;
};

export interface ClientOptions {
  /** "host:port", or "dns:///name:port" for a headless service whose addresses share the load. */
  readonly target: string;
  /** The default deadline of each call. */
  readonly timeoutMs: number;
  /** Default: plaintext, to loopback only. */
  readonly security?: RpcSecurity;
  /** The context of calls that bring none. */
  readonly context?: MessageInitShape<typeof CallContextSchema>;
  /** Told of each call that is over. */
  readonly onCall?: ((call: EndedCall) => void) | undefined;
}

const channelOptions: ChannelOptions = {
  // Headless services resolve to every pod; pick_first would send everything to one of them.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.initial_reconnect_backoff_ms': 100,
  // A service that is back is reached within so long; until then calls to it fail at once.
  'grpc.max_reconnect_backoff_ms': 500,
  'grpc.dns_min_time_between_resolutions_ms': 1_000,
  // A page of 100 resources with full metadata is below 4 MiB; a batch of 1,000 creates is not.
  'grpc.max_receive_message_length': 64 * 1024 * 1024,
};

type RawUnary = (
  request: unknown,
  metadata: Metadata,
  options: { deadline: number },
  callback: (error: ServiceError | null, response: unknown) => void,
) => { cancel(): void };
type RawStream = (request: unknown, metadata: Metadata, options: { deadline: number }) => ClientReadableStream<unknown>;

/** Makes a client of one service. It connects at the first call and reconnects by itself. */
export function createClient<S extends AnyService>(service: S, options: ClientOptions): RpcClient<S> {
  const { target, timeoutMs, security = loopbackOnly, onCall } = options;
  const methodNames = new Map(service.methods.map((one) => [one.localName, `${service.typeName}/${one.name}`]));
  const credentials = security.channelCredentials(target);
  const Constructor = makeGenericClientConstructor(toServiceDefinition(service), service.typeName);
  const raw = new Constructor(target, credentials, channelOptions) as unknown as Client & Record<string, unknown>;
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
  const deadlineOf = (call: CallOptions) => ({ deadline: Date.now() + (call.timeoutMs ?? timeoutMs) });

  const send =
    (name: string) =>
    (request: unknown, call: CallOptions = {}) =>
      new Promise<unknown>((resolve, reject) => {
        let unlink = () => {};
        const startedAtMs = performance.now();
        try {
          const method = methodOf<RawUnary>(name);
          const grpcCall = method(
            request,
            contextToMetadata(call.context ?? options.context),
            deadlineOf(call),
            (error, response) => {
              unlink();
              ended(name, error, startedAtMs);
              if (error) reject(fromServiceError(error));
              else resolve(response);
            },
          );
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
          const context = { ...(call.context ?? options.context), traceparent: activeTraceparent() };
          return sendIt(request, { ...call, context });
        },
      );
    };
  };

  const serverStreaming = (name: string) =>
    async function* (request: unknown, call: CallOptions = {}) {
      let stream: ClientReadableStream<unknown> | undefined;
      let unlink = () => {};
      let failure: unknown;
      const startedAtMs = performance.now();
      try {
        const method = methodOf<RawStream>(name);
        stream = method(request, contextToMetadata(call.context ?? options.context), deadlineOf(call));
        // The cancellation below surfaces as an error after the reader has gone.
        stream.on('error', () => {});
        unlink = cancelOnAbort(stream, call.signal);
        yield* stream;
      } catch (error) {
        failure = error;
        throw fromServiceError(error);
      } finally {
        ended(name, failure, startedAtMs);
        unlink();
        stream?.cancel(); // a reader that stops early ends the call
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

function cancelOnAbort(call: { cancel(): void }, signal: AbortSignal | undefined): () => void {
  if (!signal) return () => {};
  if (signal.aborted) {
    call.cancel();
    return () => {};
  }
  const cancel = () => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  return () => signal.removeEventListener('abort', cancel);
}
