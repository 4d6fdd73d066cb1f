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

/** Who calls and for which request; travels in metadata, and inside each item of a batch. */
export type CallContext = CallContextMessage;

const requestIdKey = 'x-request-id';
const traceparentKey = 'traceparent';
const callerKey = 'rms-caller-bin';

/** Writes a context as metadata: request id and traceparent as text, who calls as bytes. */
export function contextToMetadata(context: MessageInitShape<typeof CallContextSchema> | undefined): Metadata {
  const metadata = new Metadata();
  if (!context) return metadata;
  if (context.requestId) metadata.set(requestIdKey, context.requestId);
  if (context.traceparent) metadata.set(traceparentKey, context.traceparent);
  const { principal, clientAddress, actor } = context;
  if (principal || clientAddress || actor) {
    const message = create(CallContextSchema, {
      ...(principal ? { principal } : {}),
      clientAddress: clientAddress ?? '',
      actor: actor ?? '',
    });
    metadata.set(callerKey, Buffer.from(toBinary(CallContextSchema, message)));
  }
  return metadata;
}

/** Reads what {@link contextToMetadata} wrote. A caller that can't be read is none. */
export function contextFromMetadata(metadata: Metadata): CallContext {
  const context = callerOf(metadata);
  context.requestId = textOf(metadata, requestIdKey);
  context.traceparent = textOf(metadata, traceparentKey);
  return context;
}

function callerOf(metadata: Metadata): CallContext {
  const [bytes] = metadata.get(callerKey);
  try {
    if (bytes instanceof Buffer) return fromBinary(CallContextSchema, bytes);
  } catch {
    // Not ours.
  }
  return create(CallContextSchema);
}

function textOf(metadata: Metadata, key: string): string {
  const [value] = metadata.get(key);
  return typeof value === 'string' ? value : '';
}
