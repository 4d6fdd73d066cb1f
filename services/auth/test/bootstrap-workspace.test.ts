import { hashOfApiKey, isWellFormedApiKey } from '@rms/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { startAuth, type TestAuth } from './support.ts';

describe('BootstrapWorkspace', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('of many first starts at once one makes a workspace with a live and a sandbox admin key', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => auth.workspaces.bootstrapWorkspace({ name: 'Mine' })),
    );
    const made = answers.filter(({ created }) => created);
    expect(made).toHaveLength(1);
    expect(new Set(answers.map(({ workspace }) => workspace?.id)).size).toBe(1);
    const [live = '', sandbox = ''] = made[0]?.keyValues ?? [];
    expect([isWellFormedApiKey(live, 'live'), isWellFormedApiKey(sandbox, 'sandbox')]).toEqual([true, true]);
    const { results } = await auth.keys.batchVerifyKeys({
      requests: [
        { keyHash: hashOfApiKey(live), environment: Environment.LIVE },
        { keyHash: hashOfApiKey(sandbox), environment: Environment.SANDBOX },
      ],
    });
    expect(results.map(({ verdict, principal }) => [verdict, principal?.scope])).toEqual([
      [KeyVerdict.VALID, Scope.ADMIN],
      [KeyVerdict.VALID, Scope.ADMIN],
    ]);
    expect((await auth.workspaces.listWorkspaces({})).workspaces).toMatchObject([{ name: 'Mine' }]);
  });

  test('where a workspace was made by hand nothing more is made', async () => {
    const other = await startAuth();
    const { workspace } = await other.workspaces.createWorkspace({ name: 'by hand' });
    const answer = await other.workspaces.bootstrapWorkspace({ name: 'Mine' });
    expect(answer).toMatchObject({ created: false, workspace: { id: workspace?.id }, keys: [], keyValues: [] });
    expect((await other.keys.listKeys({ workspaceId: workspace?.id ?? '' })).keys).toEqual([]);
    await other.stop();
  });

  test('a bad name makes nothing', async () => {
    const other = await startAuth();
    await expect(other.workspaces.bootstrapWorkspace({ name: '' })).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await other.workspaces.listWorkspaces({})).workspaces).toEqual([]);
    await other.stop();
  });
});
