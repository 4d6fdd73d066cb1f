import { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { describeWith, localServices, perSuite } from '@rms/testkit';
import { Environment, Role, suiteWorld, violations } from './support.ts';

describeWith('chromium', 'Identities and keys of members, in a browser', () => {
  const world = suiteWorld();
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));

  const atAuth = () => {
    const { auth: target, security } = localServices(world.standalone.dataDir);
    return { target, security, timeoutMs: 60_000 };
  };

  test('a user sees where a linked identity comes from, and unlinks it with the password', async () => {
    const issuer = 'https://id.example.com';
    const signIn = createClient(SignInService, atAuth());
    const identity = { issuer, subject: 'subject-1', email: owner.email, emailVerified: true };
    await signIn.verifyIdentity(identity, { context: { clientAddress: '192.0.2.7' } });
    signIn.close();
    const page = await world.open(owner);
    await page.goto('/account');
    const table = page.getByRole('table', { name: 'Linked identities' });
    for (const text of [issuer, owner.email, '192.0.2.7']) await table.getByText(text, { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: `Unlink ${issuer}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Current password').fill('wrong wrong wrong');
    await dialog.getByRole('button', { name: 'Unlink' }).click();
    await dialog.getByText('is wrong').waitFor();
    await dialog.getByLabel('Current password').fill(owner.password);
    await dialog.getByRole('button', { name: 'Unlink' }).click();
    await page.getByText('Identity unlinked.', { exact: false }).waitFor();
    expect(await table.count()).toBe(0);
    // This browser stays signed in.
    await page.reload();
    await page.getByRole('heading', { name: 'Your account', exact: true }).waitFor();
  });

  test('the dialog that removes a member shows the keys that the member created, and revokes them', async () => {
    const builder = await world.newUser('builder', Role.DEVELOPER);
    const [users, keys] = [createClient(UsersService, atAuth()), createClient(KeysService, atAuth())];
    const { user } = await users.getUser({ email: builder.email });
    const { workspaceId } = world;
    const request = { workspaceId, environment: Environment.SANDBOX, scope: Scope.READ, name: 'nightly build' };
    const context = { actor: `user:${user?.id}`, actorName: builder.email };
    const { key } = await keys.createKey(request, { context });
    const page = await world.open(owner);
    await page.goto(`/w/${workspaceId}/sandbox/settings/keys`);
    await page
      .getByRole('row', { name: /nightly build/ })
      .getByText(builder.email)
      .waitFor();
    await page.goto(`/w/${workspaceId}/live/settings/team`);
    await page.getByRole('button', { name: `Remove ${builder.email}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('nightly build').waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByLabel('Revoke these keys').check();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Member removed and keys revoked.').waitFor();
    expect((await keys.getKey({ workspaceId, id: key?.id ?? '' })).key?.revokeTime).toBeDefined();
    for (const client of [users, keys]) client.close();
  });

  test('the page of a key says that its creator is no longer a member, and changes its expiry', async () => {
    const leaver = await world.newUser('leaver', Role.DEVELOPER);
    const [users, keys] = [createClient(UsersService, atAuth()), createClient(KeysService, atAuth())];
    const { user } = await users.getUser({ email: leaver.email });
    const { workspaceId } = world;
    const request = { workspaceId, environment: Environment.LIVE, scope: Scope.READ, name: 'left behind' };
    const { key } = await keys.createKey(request, { context: { actor: `user:${user?.id}`, actorName: leaver.email } });
    const page = await world.open(owner);
    await page.goto(`/w/${workspaceId}/live/settings/keys/${key?.id}`);
    await page.getByText(leaver.email).waitFor();
    const note = page.getByText('is no longer a member');
    expect(await note.count()).toBe(0);
    await page.goto(`/w/${workspaceId}/live/settings/team`);
    await page.getByRole('button', { name: `Remove ${leaver.email}` }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('left behind').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Member removed.').waitFor();
    await page.goto(`/w/${workspaceId}/live/settings/keys/${key?.id}`);
    await note.waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog.getByLabel('Expires').selectOption('In 30 days');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Key updated.', { exact: false }).waitFor();
    const { key: changed } = await keys.getKey({ workspaceId, id: key?.id ?? '' });
    expect(Number(changed?.expireTime?.seconds) * 1_000 - Date.now()).toBeGreaterThan(29 * 86_400_000);
    for (const client of [users, keys]) client.close();
  });
});
