import { type DescFile, type DescMessage, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { ServerReflection, type ServerReflectionResponseSchema } from '@rms/proto/grpc/reflection/v1/reflection_pb';
import { type RpcService, rpcService } from './server-adapter.ts';
import type { AnyService } from './service-definition.ts';

type Response = NonNullable<MessageInitShape<typeof ServerReflectionResponseSchema>['messageResponse']>;

/**
 * Implements grpc.reflection.v1 for these services, so that tools such as grpcurl can list and call them without .proto
 * files.
 */
export function reflectionService(services: readonly AnyService[]): RpcService {
  const files = new Map<string, DescFile>();
  const bySymbol = new Map<string, DescFile>();

  const visitMessages = (messages: readonly DescMessage[], file: DescFile) => {
    for (const message of messages) {
      bySymbol.set(message.typeName, file);
      for (const nested of message.nestedEnums) bySymbol.set(nested.typeName, file);
      visitMessages(message.nestedMessages, file);
    }
  };
  const visit = (file: DescFile) => {
    if (files.has(file.proto.name)) return;
    files.set(file.proto.name, file);
    file.dependencies.forEach(visit);
    visitMessages(file.messages, file);
    for (const { typeName } of [...file.enums, ...file.extensions]) bySymbol.set(typeName, file);
    for (const service of file.services) {
      bySymbol.set(service.typeName, file);
      for (const method of service.methods) bySymbol.set(`${service.typeName}.${method.name}`, file);
    }
  };
  for (const service of services) visit(service.file);

  return rpcService(ServerReflection, {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        const { case: requested, value } = request.messageRequest;
        const response = (messageResponse: Response) => ({
          validHost: request.host,
          originalRequest: request,
          messageResponse,
        });
        if (requested === 'listServices') {
          const service = services.map(({ typeName }) => ({ name: typeName }));
          yield response({ case: 'listServicesResponse', value: { service } });
          continue;
        }
        const file =
          requested === 'fileByFilename'
            ? files.get(value)
            : requested === 'fileContainingSymbol'
              ? bySymbol.get(value)
              : undefined;
        if (file)
          yield response({ case: 'fileDescriptorResponse', value: { fileDescriptorProto: withDependencies(file) } });
        else
          yield response({ case: 'errorResponse', value: { errorCode: status.NOT_FOUND, errorMessage: 'not found' } });
      }
    },
  });
}

function withDependencies(file: DescFile, seen = new Set<DescFile>()): Uint8Array[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const dependencies = file.dependencies.flatMap((dependency) => withDependencies(dependency, seen));
  return [toBinary(FileDescriptorProtoSchema, file.proto), ...dependencies];
}
