import { describeWith, perSuite, startReceiver } from '@rms/testkit';
import { Environment, Role, suiteWorld } from './support.ts';

describeWith('chromium', 'The forms of a webhook', () => {
  const world = suiteWorld();
  const developer = perSuite(() => world.newUser('webhook-settings', Role.DEVELOPER));
  const receiver = perSuite(startReceiver);

  const api = async (key: string, path: string) => {
    const response = await fetch(world.standalone.liveUrl + path, { headers: { Authorization: `Bearer ${key}` } });
    return (await response.json()) as { data: { [name: string]: unknown }[] & { [name: string]: unknown } };
  };

  test('create and edit all settings; a secret header keeps its value; a webhook is paused, resumed and disabled', async () => {
    const page = await world.open(developer);
    const key = await world.key(Environment.LIVE);
    await page.goto(`/w/${world.workspaceId}/live/webhooks/new`);
    await page.getByLabel('Endpoint URL').fill(receiver.url);
    await page.getByLabel('Description').fill('Orders of the shop');
    await page.getByLabel('Deliver events').selectOption('all');
    await page.getByLabel('Condition 1: field').fill('metadata.team');
    await page.getByLabel('Condition 1: operator').selectOption('in');
    await page.getByLabel('Condition 1: values').fill('blue\ngreen');
    await page.getByRole('button', { name: 'Add condition' }).click();
    await page.getByLabel('Condition 2: field').fill('id');
    await page.getByLabel('Condition 2: operator').selectOption('exists');
    await page.getByLabel('Ordered delivery').check();
    await page.getByLabel('Delay type').selectOption('custom');
    await page.getByLabel('Delays in seconds').fill('1, 2.5');
    await page.getByLabel('Timeout in seconds').fill('2.5');
    await page.getByLabel('Second signature header').fill('X-Old-Signature');
    await page.getByRole('button', { name: 'Add header' }).click();
    await page.getByLabel('Header 1: name').fill('X-Environment');
    await page.getByLabel('Header 1: value').fill('production');
    await page.getByRole('button', { name: 'Add header' }).click();
    await page.getByLabel('Header 2: name').fill('Authorization');
    await page.getByLabel('Header 2: value').fill('Bearer of-the-receiver');
    await page.getByLabel('Header 2 is secret').check();
    await page.getByLabel('Create disabled').check();
    await page.getByRole('button', { name: 'Create webhook' }).click();
    // The service refuses the second condition, and the form keeps everything.
    await page.getByText(/^must be name, status, input_type/).waitFor();
    await page.getByLabel('Condition 2: field').fill('name');
    await page.getByRole('button', { name: 'Create webhook' }).click();
    await page.getByRole('button', { name: 'I have saved it' }).click();
    await page.waitForURL(/webhooks\/wh_/);
    const id = page.url().split('/').at(-1) ?? '';
    const settings = {
      description: 'Orders of the shop',
      status: 'disabled',
      ordered: true,
      retry_policy: { delays: [1, 2.5] },
      headers: { 'X-Environment': 'production' },
      secret_headers: ['Authorization'],
      timeout: 2.5,
      signature_alias: 'X-Old-Signature',
      filter: {
        all: [
          { field: 'metadata.team', op: 'in', value: ['blue', 'green'] },
          { field: 'name', op: 'exists' },
        ],
      },
    };
    expect((await api(key, `/v1/webhooks/${id}`)).data).toMatchObject(settings);
    await page.getByText('Authorization (secret)').waitFor();
    expect(await page.content()).not.toContain('of-the-receiver');

    await page.getByRole('button', { name: 'Enable', exact: true }).click();
    await page.getByText('The webhook is active.').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Remove condition 1' }).click();
    await dialog.getByRole('button', { name: 'Remove header 1' }).click();
    await dialog.getByLabel('Second signature header').fill('');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Webhook updated.').waitFor();
    expect((await api(key, `/v1/webhooks/${id}`)).data).toMatchObject({
      ...settings,
      status: 'active',
      headers: {},
      signature_alias: null,
      filter: { all: [{ field: 'name', op: 'exists' }] },
    });
    await page.getByRole('button', { name: 'Send test event' }).click();
    await dialog.getByRole('button', { name: 'Send test event' }).click();
    await page.getByRole('region', { name: 'Test event' }).getByText('HTTP 200').waitFor();
    expect(receiver.requests.at(-1)?.headers.authorization).toBe('Bearer of-the-receiver');

    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('This webhook is paused').waitFor();
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByText('This webhook is paused').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Disable', exact: true }).click();
    await dialog.getByText('No deliveries are pending.').waitFor();
    await dialog.getByText('Pause the webhook instead').waitFor();
    await dialog.getByRole('button', { name: 'Disable webhook' }).click();
    await page.getByText('This webhook is disabled').waitFor();
  });
});
