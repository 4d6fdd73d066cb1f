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

type Ask = ServerReflectionRequest['messageRequest'];
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

  const ask = async (...requests: Ask[]) => {
    const stream = client.serverReflectionInfo();
    for (const messageRequest of requests) stream.write({ messageRequest });
    stream.end();
    const answers: ServerReflectionResponse['messageResponse'][] = [];
    for await (const { messageResponse } of stream as AsyncIterable<ServerReflectionResponse>) {
      answers.push(messageResponse);
    }
    return answers;
  };
  const filesOf = (answer: ServerReflectionResponse['messageResponse'] | undefined) =>
    answer?.case === 'fileDescriptorResponse'
      ? answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name)
      : [];

  test('lists the services that are served', async () => {
    const [answer] = await ask({ case: 'listServices', value: '' });
    expect(answer?.value).toMatchObject({ service: [{ name: 'rms.auth.v1.WorkspacesService' }] });
  });

  test('gives a file with all that it needs, by symbol and by name', async () => {
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

  test('says of what it does not know that it is not found, and goes on', async () => {
    const answers = await ask(
      { case: 'fileContainingSymbol', value: 'nobody.Knows' },
      { case: 'listServices', value: '' },
    );
    expect(answers.map((answer) => answer.case)).toEqual(['errorResponse', 'listServicesResponse']);
  });
});
