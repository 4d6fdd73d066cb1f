import { toJson } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { startAuth, type TestAuth } from './support.ts';

describe('ListKeys', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('keys of both environments, newest first, without their values', async () => {
    const live = await auth.newKey({ name: 'live' });
    const { workspaceId } = live;
    const sandbox = await auth.newKey({ workspaceId, environment: Environment.SANDBOX, name: 'sandbox' });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys.map(({ id }) => id)).toEqual([sandbox.id, live.id]);
    expect(keys[1]?.hint).toBe(`${live.value.slice(0, 12)}…${live.value.slice(-4)}`);
    const listed = JSON.stringify(keys.map((key) => toJson(KeySchema, key)));
    for (const { value } of [live, sandbox]) expect(listed).not.toContain(value.slice(12, -4));

    const ofSandbox = await auth.keys.listKeys({ workspaceId, environment: Environment.SANDBOX });
    expect(ofSandbox.keys.map(({ id }) => id)).toEqual([sandbox.id]);
  });

  test('revoked and rolled keys are listed with when, and with what took their place', async () => {
    const { workspaceId, id } = await auth.newKey();
    const revoked = await auth.newKey({ workspaceId });
    const { key } = await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(3_600_000) });
    await auth.keys.revokeKey({ workspaceId, id: revoked.id });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys.map((one) => [one.id, Boolean(one.revokeTime), Boolean(one.rollTime), one.replacedById])).toEqual([
      [key?.id, false, false, ''],
      [revoked.id, true, false, ''],
      [id, false, true, key?.id],
    ]);
  });

  test("another workspace's keys are not in the list", async () => {
    await auth.newKey();
    expect((await auth.keys.listKeys({ workspaceId: await auth.newWorkspace() })).keys).toEqual([]);
  });
});
