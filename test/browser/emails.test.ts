import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { linkOfEmail } from './emails.ts';
import { copiedText, Role, reloadUntil, signIn, suiteWorld } from './support.ts';

const password = 'a password of twelve and more';

describeWith('chromium', 'Links in emails, followed in a browser', () => {
  const world = suiteWorld();
  const owner = perSuite(() => world.newUser('owner', Role.OWNER));
  const receiver = perSuite(startReceiver);

  const emailLink = (recipient: string, form: RegExp) => linkOfEmail(world.standalone.dataDir, recipient, form);
  const goTo = (page: Page, path: string) => page.goto(`/w/${world.workspaceId}/live${path}`);

  test('an invitation creates a member once, with the invited role', async () => {
    const page = await world.open(owner);
    await goTo(page, '/settings/team');
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email').fill('new.person@example.com');
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByRole('button', { name: 'Create invitation' }).click();
    // Without an SMTP server, the inviter gets the link, once.
    await dialog.getByRole('button', { name: 'Copy link' }).click();
    const link = await copiedText(world, page);
    expect(new URL(link).pathname + new URL(link).hash).toBe(
      await emailLink('new.person@example.com', /^\/invitation#/),
    );
    await dialog.getByRole('button', { name: 'I have copied it' }).click();
    await page.getByRole('cell', { name: 'new.person@example.com', exact: true }).waitFor();
    expect(await page.content()).not.toContain(link);

    const guest = await world.open();
    await guest.goto(link);
    await guest.getByLabel('Password').fill(password);
    await guest.getByRole('button', { name: 'Join' }).click();
    await guest.getByRole('heading', { name: 'Overview' }).waitFor();
    await guest.getByRole('link', { name: 'Team' }).click();
    await guest.getByRole('cell', { name: /new\.person@example\.com.*You/ }).waitFor();
    expect(await guest.getByRole('button', { name: 'Invite' }).count()).toBe(0);

    const again = await world.open();
    await again.goto(link);
    await again.getByRole('heading', { name: 'This invitation is invalid' }).waitFor();
  });

  test('a user changes their email address through a link sent to the new one, then deletes the account', async () => {
    const newUser = await world.newUser('mover', Role.VIEWER);
    const moved = { email: 'moved@example.com', password: newUser.password };
    const page = await world.open(newUser);
    await page.goto('/account');
    await page.getByRole('button', { name: 'Change email address' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('New email address').fill(moved.email);
    await dialog.getByLabel('Current password').fill('wrong wrong wrong');
    await dialog.getByRole('button', { name: 'Send link' }).click();
    await dialog.getByText('is wrong').waitFor();
    await dialog.getByLabel('Current password').fill(newUser.password);
    await dialog.getByRole('button', { name: 'Send link' }).click();
    await dialog.getByText(`We sent a link to ${moved.email}`, { exact: false }).waitFor();

    await page.goto(await emailLink(moved.email, /^\/email-change#/));
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText(`Sign in with ${moved.email}.`, { exact: false }).waitFor();
    // The old address is notified, with a link to the account; all sessions are over.
    await page.goto(await emailLink(newUser.email, /^\/account$/));
    await page.waitForURL(/\/sign-in/);
    await signIn(page, moved);
    await page.getByRole('heading', { name: 'Your account', exact: true }).waitFor();

    await page.getByRole('button', { name: 'Delete account' }).click();
    const remove = dialog.getByRole('button', { name: 'Delete account' });
    expect(await remove.isDisabled()).toBe(true);
    await dialog.getByLabel(`Type ${moved.email} to confirm`).fill(moved.email);
    await dialog.getByLabel('Current password').fill(moved.password);
    await remove.click();
    await page.waitForURL(/\/sign-in/);
    await signIn(page, moved);
    await page.getByRole('alert').waitFor();
  });

  test('a reset link works once; it invalidates the old password and every session', async () => {
    const forgetful = await world.newUser('forgetful', Role.DEVELOPER);
    const before = await world.open(forgetful);
    const page = await world.open();
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    // The previous page also has a field with this label.
    await page.getByRole('heading', { name: 'Reset password' }).waitFor();
    await page.getByLabel('Email').fill(forgetful.email);
    await page.getByRole('button', { name: 'Send link' }).click();
    await page.getByText('we sent it a link').waitFor();

    const link = await emailLink(forgetful.email, /^\/password-reset#/);
    await page.goto(link);
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await signIn(page, forgetful);
    await page.getByRole('alert').waitFor();
    await signIn(page, { ...forgetful, password });
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await before.reload();
    await before.waitForURL(/\/sign-in/);
    await before.goto(link);
    await before.getByLabel('New password').fill(password);
    await before.getByRole('button', { name: 'Change password' }).click();
    await before.getByRole('heading', { name: 'This link is invalid' }).waitFor();
  });

  test('the alert about a failing endpoint links to its failed deliveries, which are redelivered; its email unsubscribes', async () => {
    receiver.respondWith(500);
    const call = await world.apiCaller();
    const webhook = await call('POST', '/v1/webhooks', { url: receiver.url, events: ['*'] });
    const page = await world.open(owner);
    await goTo(page, `/webhooks/${webhook.id}`);
    await page.getByLabel('Delay type').selectOption('custom');
    await page.getByLabel('Delays in seconds').fill('0.1, 0.1, 0.1');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('Retry policy saved.').waitFor();
    await call('POST', '/v1/resources', { name: 'Lost at first' });

    await page.goto(await emailLink(owner.email, /^\/w\/.*\/deliveries\?webhook=wh_/));
    // The email may arrive before the last attempt ends.
    await reloadUntil(page, page.locator('tbody').getByText('Failed'), 'the delivery to have failed');
    expect(await page.getByLabel('Webhook', { exact: true }).inputValue()).toBe(webhook.id);
    receiver.respondWith(200);
    await page.getByRole('button', { name: 'Redeliver all failed' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Count deliveries' }).click();
    await dialog.getByRole('button', { name: /^Redeliver \d/ }).click();
    await dialog.getByText('1 of 1 redelivered.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    // The link has opened the failed ones only.
    await page.getByLabel('Status').selectOption('');
    await page.getByLabel('Live tail').check();
    await page.locator('tbody').getByText('Delivered').waitFor();
    await goTo(page, '/settings/alerts');
    await page.getByRole('table', { name: 'History' }).getByText('Consecutive webhook failures').first().waitFor();

    await page.goto(await emailLink(owner.email, /^\/unsubscribe\?token=[\w-]+#/));
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText(`${owner.email} no longer gets emails of this rule.`, { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Subscribe again' }).click();
    await page.getByRole('button', { name: 'Unsubscribe' }).waitFor();
  });
});
