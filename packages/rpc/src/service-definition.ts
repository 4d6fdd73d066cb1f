import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

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
