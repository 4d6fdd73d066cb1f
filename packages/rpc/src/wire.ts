import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Metadata, type MethodDefinition, type ServiceDefinition } from '@grpc/grpc-js';
import { type CallContext, CallContextSchema } from '@rms/proto/rms/common/v1/common_pb';

/**
 * Longest message that clients and servers accept. A page of 100 resources with full metadata is below 4 MiB; a batch
 * of 1,000 creates is not.
 */
export const maxMessageBytes = 64 * 1024 * 1024;

/** A generated service descriptor. (GenService's `method` is not assignable to DescService's, hence the wider type.) */
export type AnyService = Omit<DescService, 'method'> & { method: Record<string, DescMethod> };

/** Converts a protobuf-es service descriptor to the format that grpc-js uses for servers and clients. */
export function toServiceDefinition(service: AnyService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => {
      const request = codec(method.input);
      const response = codec(method.output);
      return [
        method.localName,
        {
          path: `/${service.typeName}/${method.name}`,
          originalName: method.localName,
          requestStream: false,
          responseStream: method.methodKind === 'server_streaming',
          requestSerialize: request.serialize,
          requestDeserialize: request.deserialize,
          responseSerialize: response.serialize,
          responseDeserialize: response.deserialize,
        } satisfies MethodDefinition<Message, Message>,
      ];
    }),
  );
}

function codec(descriptor: DescMessage) {
  return {
    // create() accepts both plain initial shapes and complete messages.
    serialize(message: Message): Buffer {
      const bytes = toBinary(descriptor, create(descriptor, message as never));
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    deserialize: (bytes: Buffer): Message => fromBinary(descriptor, bytes),
  };
}

// Keys of a call's metadata.
const requestIdKey = 'x-request-id';
const traceparentKey = 'traceparent';
const tracestateKey = 'tracestate';
const callerKey = 'rms-caller-bin';
export const tokenKey = 'rms-token';

/**
 * Converts the context of a call (the caller and the request) to metadata: request ID and trace context as text, the caller as bytes.
 * Each item of a batch contains its own context instead.
 */
export function contextToMetadata(context: MessageInitShape<typeof CallContextSchema> | undefined): Metadata {
  const metadata = new Metadata();
  if (!context) return metadata;
  if (context.requestId) metadata.set(requestIdKey, context.requestId);
  if (context.traceparent) metadata.set(traceparentKey, context.traceparent);
  if (context.tracestate) metadata.set(tracestateKey, context.tracestate);
  const { principal, clientAddress, actor, actorName } = context;
  if (principal || clientAddress || actor) {
    const message = create(CallContextSchema, {
      ...(principal ? { principal } : {}),
      clientAddress: clientAddress ?? '',
      actor: actor ?? '',
      actorName: actorName ?? '',
    });
    metadata.set(callerKey, Buffer.from(toBinary(CallContextSchema, message)));
  }
  return metadata;
}

/** Adds the token to a call's metadata. Returns the metadata. */
export function withToken(metadata: Metadata, token: string | undefined): Metadata {
  if (token !== undefined) metadata.set(tokenKey, token);
  return metadata;
}

/** Reads the metadata written by {@link contextToMetadata}. An unreadable caller is treated as absent. */
export function contextFromMetadata(metadata: Metadata): CallContext {
  const context = callerOf(metadata);
  context.requestId = textOf(metadata, requestIdKey);
  context.traceparent = textOf(metadata, traceparentKey);
  context.tracestate = textOf(metadata, tracestateKey);
  return context;
}

function callerOf(metadata: Metadata): CallContext {
  const [bytes] = metadata.get(callerKey);
  try {
    if (bytes instanceof Buffer) return fromBinary(CallContextSchema, bytes);
  } catch {
    // Another program wrote the bytes.
  }
  return create(CallContextSchema);
}

function textOf(metadata: Metadata, key: string): string {
  const [value] = metadata.get(key);
  return typeof value === 'string' ? value : '';
}

const userPrefix = 'user:';

/** Returns the actor string of a user, as in the context of calls and in the audit log. */
export function actorOfUser(userId: string): string {
  return `${userPrefix}${userId}`;
}

/** Returns the acting user's ID, or undefined for an operator, an API key or a service. */
export function userOfActor(actor: string): string | undefined {
  return actor.startsWith(userPrefix) ? actor.slice(userPrefix.length) : undefined;
}

/**
 * Returns the call's actor ("user:usr_…", "operator:alice@laptop"), "key:key_…" for an API client, or "system" for
 * a service's own actions.
 */
export function actorOf({
  actor,
  principal,
}: {
  readonly actor: string;
  readonly principal?: { readonly keyId: string } | undefined;
}): string {
  if (actor !== '') return actor;
  return principal ? `key:${principal.keyId}` : 'system';
}
