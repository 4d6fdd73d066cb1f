import { describeWith, type Receiver, startReceiver } from '@rms/testkit';
import type { Page } from 'playwright-core';
import { linkOfMail } from './mails.ts';
import { Environment, openWorld, type Person, Role, reloadUntil, signIn, startMs, type World } from './support.ts';

const password = 'a password of twelve and more';

describeWith('chromium', 'Links of mails, followed in a browser', () => {
  let world: World;
  let owner: Person;
  let receiver: Receiver;
  beforeAll(async () => {
    world = await openWorld();
    owner = await world.person('owner', Role.OWNER);
    receiver = await startReceiver();
  }, startMs);
  afterAll(async () => {
    await receiver?.close();
    await world?.stop();
  });
  afterEach(() => expect(world?.troubles.splice(0)).toEqual([]));

  const mailLink = (recipient: string, form: RegExp) => linkOfMail(world.standalone.dataDir, recipient, form);
  const goTo = (page: Page, path: string) => page.goto(`/w/${world.workspaceId}/live${path}`);

  test('an invitation makes a member, once; the role holds', async () => {
    const page = await world.open(owner);
    await goTo(page, '/settings/team');
    await page.getByRole('button', { name: 'Invite' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('E-mail').fill('new.person@example.com');
    await dialog.getByLabel('Role').selectOption('viewer');
    await dialog.getByRole('button', { name: 'Send invitation' }).click();
    await page.getByRole('cell', { name: 'new.person@example.com', exact: true }).waitFor();

    const link = await mailLink('new.person@example.com', /^\/invitation#/);
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
    await again.getByRole('heading', { name: 'This invitation does not work' }).waitFor();
  });

  test("one's own e-mail address is changed by a link to the new one; then the account is deleted", async () => {
    const person = await world.person('mover', Role.VIEWER);
    const moved = { email: 'moved@example.com', password: person.password };
    const page = await world.open(person);
    await page.goto('/account');
    await page.getByRole('button', { name: 'Change e-mail address' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('New e-mail address').fill(moved.email);
    await dialog.getByLabel('Your password').fill('wrong wrong wrong');
    await dialog.getByRole('button', { name: 'Send a link' }).click();
    await dialog.getByText('is wrong').waitFor();
    await dialog.getByLabel('Your password').fill(person.password);
    await dialog.getByRole('button', { name: 'Send a link' }).click();
    await dialog.getByText(`A link is on its way to ${moved.email}`, { exact: false }).waitFor();

    await page.goto(await mailLink(moved.email, /^\/email-change#/));
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText(`Sign in with ${moved.email} from now on.`, { exact: false }).waitFor();
    // The old address is told, with a link to the account; all sessions have ended.
    await page.goto(await mailLink(person.email, /^\/account$/));
    await page.waitForURL(/\/sign-in/);
    await signIn(page, moved);
    await page.getByRole('heading', { name: 'Your account', exact: true }).waitFor();

    await page.getByRole('button', { name: 'Delete account' }).click();
    const remove = dialog.getByRole('button', { name: 'Delete account' });
    expect(await remove.isDisabled()).toBe(true);
    await dialog.getByLabel(`Type ${moved.email} to confirm`).fill(moved.email);
    await dialog.getByLabel('Your password').fill(moved.password);
    await remove.click();
    await page.waitForURL(/\/sign-in/);
    await signIn(page, moved);
    await page.getByRole('alert').waitFor();
  });

  test('a forgotten password is reset, once; the old one ends, and with it every session', async () => {
    const forgetful = await world.person('forgetful', Role.DEVELOPER);
    const before = await world.open(forgetful);
    const page = await world.open();
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    // The page before has a field of that name as well.
    await page.getByRole('heading', { name: 'Reset your password' }).waitFor();
    await page.getByLabel('E-mail').fill(forgetful.email);
    await page.getByRole('button', { name: 'Send a link' }).click();
    await page.getByText('a link is on its way').waitFor();

    const link = await mailLink(forgetful.email, /^\/password-reset#/);
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
    await before.getByRole('heading', { name: 'This link does not work' }).waitFor();
  });

  test('the alert about a broken endpoint leads to what failed; mended, it is redelivered; and one can unsubscribe', async () => {
    receiver.respondWith(500);
    const key = await world.key(Environment.LIVE);
    const post = (path: string, body: object) =>
      fetch(world.standalone.liveUrl + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const subscribed = await post('/v1/webhooks', { url: receiver.url, events: ['*'] });
    expect(subscribed.status).toBe(201);
    const { data: webhook } = (await subscribed.json()) as { data: { id: string } };
    const page = await world.open(owner);
    await goTo(page, `/webhooks/${webhook.id}`);
    await page.getByLabel('Delays', { exact: true }).selectOption('own');
    await page.getByLabel('Delays in seconds').fill('0.1, 0.1, 0.1');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('The retry policy is changed.').waitFor();
    await post('/v1/resources', { name: 'Lost at first' });

    await page.goto(await mailLink(owner.email, /^\/w\/.*\/deliveries\?webhook=wh_/));
    // The mail may be there before the last attempt has ended.
    await reloadUntil(page, page.locator('tbody').getByText('Failed'), 'the delivery to have failed');
    expect(await page.getByLabel('Webhook', { exact: true }).inputValue()).toBe(webhook.id);
    receiver.respondWith(200);
    await page.getByRole('button', { name: 'Redeliver all failed' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Count them' }).click();
    await dialog.getByRole('button', { name: /^Redeliver \d/ }).click();
    await dialog.getByText('1 of 1 sent again.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.getByLabel('Live tail').check();
    await page.locator('tbody').getByText('Delivered').waitFor();
    await goTo(page, '/settings/alerts');
    await page.getByRole('table', { name: 'History' }).getByText('Webhook fails in a row').first().waitFor();

    await page.goto(await mailLink(owner.email, /^\/unsubscribe\?token=/));
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText(`${owner.email} gets no more mails of this rule.`, { exact: false }).waitFor();
  });
});
