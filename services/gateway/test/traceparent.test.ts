import { startGateway, type TestGateway } from './support/start-gateway.ts';

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe.each([
  ['true', sent],
  ['false', ''],
])("With TRUST_TRACEPARENT=%s and tracing disabled, a client's traceparent", (trust, carried) => {
  let world: TestGateway;
  beforeAll(async () => {
    world = await startGateway({ env: { TRUST_TRACEPARENT: trust } });
  });
  afterAll(() => world.stop());

  test.each([
    [sent, carried],
    ['00-nonsense', ''],
  ])(`%s is propagated as "%s"`, async (traceparent, expected) => {
    const key = world.auth.newKey('write');
    const sending = { key: key.value, json: { name: 'x' }, headers: { traceparent } };
    expect((await world.send('POST', '/v1/resources', sending)).status).toBe(201);
    expect(world.resources.created.at(-1)?.context?.traceparent).toBe(expected);
  });
});
