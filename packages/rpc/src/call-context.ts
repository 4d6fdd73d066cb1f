import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Metadata } from '@grpc/grpc-js';
import {
  type CallContext as CallContextMessage,
  CallContextSchema,
  Environment,
  type Principal,
  Scope,
} from '@rms/proto/rms/common/v1/common_pb';

export { Environment, type Principal, Scope };

/** The caller and the request; sent in metadata, and inside each item of a batch. */
export type CallContext = CallContextMessage;

const requestIdKey = 'x-request-id';
const traceparentKey = 'traceparent';
const tracestateKey = 'tracestate';
const callerKey = 'rms-caller-bin';

/** Converts a context to metadata: request ID and trace context as text, the caller as bytes. */
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
