import { hashOfApiKey, isWellFormedApiKey } from '@rms/base/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('BootstrapWorkspace', () => {
  const auth = perSuite(startAuth);

  test('concurrent first starts create one workspace with a live and a sandbox admin key', async () => {
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => auth.workspaces.bootstrapWorkspace({ name: 'Mine' })),
    );
    const created = responses.filter(({ created }) => created);
    expect(created).toHaveLength(1);
    expect(new Set(responses.map(({ workspace }) => workspace?.id)).size).toBe(1);
    const [live = '', sandbox = ''] = created[0]?.keyValues ?? [];
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

  test('creates nothing if a workspace exists', async () => {
    const other = await startAuth();
    const { workspace } = await other.workspaces.createWorkspace({ name: 'by hand' });
    const response = await other.workspaces.bootstrapWorkspace({ name: 'Mine' });
    expect(response).toMatchObject({ created: false, workspace: { id: workspace?.id }, keys: [], keyValues: [] });
    expect((await other.keys.listKeys({ workspaceId: workspace?.id ?? '' })).keys).toEqual([]);
    await other.stop();
  });

  test('an invalid name creates nothing', async () => {
    const other = await startAuth();
    await expect(other.workspaces.bootstrapWorkspace({ name: '' })).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await other.workspaces.listWorkspaces({})).workspaces).toEqual([]);
    await other.stop();
  });
});
