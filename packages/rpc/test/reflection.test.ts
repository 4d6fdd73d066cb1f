import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type ClientDuplexStream, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from '@rms/proto/grpc/reflection/v1/reflection_pb';
import { toServiceDefinition } from '../src/service-definition.ts';
import { startWorkspaces, type WorkspacesServer } from './workspaces-server.ts';

type Query = ServerReflectionRequest['messageRequest'];
interface ReflectionClient {
  serverReflectionInfo(): ClientDuplexStream<unknown, ServerReflectionResponse>;
  close(): void;
}

describe('Reflection', () => {
  let workspaces: WorkspacesServer;
  let client: ReflectionClient;
  beforeAll(async () => {
    workspaces = await startWorkspaces();
    const Client = makeGenericClientConstructor(toServiceDefinition(ServerReflection), ServerReflection.typeName);
    client = new Client(workspaces.server.address, credentials.createInsecure()) as unknown as ReflectionClient;
  });
  afterAll(async () => {
    client.close();
    await workspaces.stop();
  });

  const ask = async (...requests: Query[]) => {
    const stream = client.serverReflectionInfo();
    for (const messageRequest of requests) stream.write({ messageRequest });
    stream.end();
    const responses: ServerReflectionResponse['messageResponse'][] = [];
    for await (const { messageResponse } of stream as AsyncIterable<ServerReflectionResponse>) {
      responses.push(messageResponse);
    }
    return responses;
  };
  const filesOf = (response: ServerReflectionResponse['messageResponse'] | undefined) =>
    response?.case === 'fileDescriptorResponse'
      ? response.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name)
      : [];

  test('lists the services', async () => {
    const [response] = await ask({ case: 'listServices', value: '' });
    expect(response?.value).toMatchObject({ service: [{ name: 'rms.auth.v1.WorkspacesService' }] });
  });

  test('returns a file with its dependencies, by symbol and by name', async () => {
    const [bySymbol, byMethod, byFile] = await ask(
      { case: 'fileContainingSymbol', value: 'rms.auth.v1.WorkspacesService' },
      { case: 'fileContainingSymbol', value: 'rms.auth.v1.WorkspacesService.CreateWorkspace' },
      { case: 'fileByFilename', value: 'rms/auth/v1/workspaces_service.proto' },
    );
    const expected = ['rms/auth/v1/workspaces_service.proto', 'rms/auth/v1/key.proto', 'rms/common/v1/common.proto'];
    expect(filesOf(bySymbol)).toEqual(expect.arrayContaining(expected));
    expect(filesOf(byMethod)).toEqual(filesOf(bySymbol));
    expect(filesOf(byFile)).toEqual(filesOf(bySymbol));
  });

  test('reports unknown symbols as not found, and continues', async () => {
    const responses = await ask(
      { case: 'fileContainingSymbol', value: 'nobody.Knows' },
      { case: 'listServices', value: '' },
    );
    expect(responses.map((response) => response.case)).toEqual(['errorResponse', 'listServicesResponse']);
  });
});
