import { createSecretBox } from '@rms/base/secrets';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { perTest } from '@rms/testkit';
import {
  confirmationLifeSeconds,
  makeConfirmationToken,
  readConfirmationToken,
} from '../src/recipient/confirmation-token.ts';
import { emailContext } from '../src/sealed/contexts.ts';
import { userIdOf } from './fake-auth.ts';
import { startAlerts, type Tenant } from './support.ts';

const kind = AlertKind.QUOTA;
const owner = 'owner@example.com';
const outside = 'ops@partner.example';

describe('Recipients of alert emails', () => {
  const service = perTest(startAlerts);

  const newWorkspace = () => service.newWorkspace(owner);
  const asUser = (email: string) => ({ context: { actor: `user:${userIdOf(email)}` } });
  const setRecipients = (tenant: Tenant, ...addresses: string[]) =>
    service.alerts.updateRule({ ...tenant, kind, recipients: { addresses } });
  const send = async (tenant: Tenant) => (await service.alerts.testRule({ ...tenant, kind })).addresses;
  const actionsOf = async ({ workspaceId }: Tenant) => {
    const { rows } = await service.database.pool.query(
      'select actor, action, target_id, details from audit.entries where workspace_id = $1 order by id',
      [workspaceId],
    );
    return rows;
  };
  /** Returns the text of all queued emails to an address, oldest first. */
  const emailsTo = async (address: string): Promise<string[]> => {
    const { rows } = await service.database.pool.query<{
      id: string;
      workspaceId: string;
      environment: string;
      content: Buffer;
    }>(
      'select id, workspace_id as "workspaceId", environment, content from alerts.emails where recipient = $1 order by created_at, id',
      [address],
    );
    const box = createSecretBox(Buffer.alloc(32, 1));
    return rows.map(
      ({ content, ...email }) => JSON.parse(box.open(content, emailContext(email)).toString()).text as string,
    );
  };
  const confirmationOf = async (address: string) =>
    /\/alert-recipient#([\w-]+)/.exec((await emailsTo(address)).at(-1) ?? '')?.[1] ?? '';

  test('outside the workspace receive nothing until they confirm', async () => {
    const tenant = newWorkspace();
    const { rule } = await setRecipients(tenant, outside, 'viewer@example.com');
    expect(rule?.unconfirmed).toEqual([outside]);
    expect(await send(tenant)).toEqual(['viewer@example.com', owner]);
    expect(await emailsTo(outside)).toHaveLength(1);

    const token = await confirmationOf(outside);
    const described = { address: outside, workspaceName: 'Acme', confirmed: false };
    expect(await service.alerts.describeRecipient({ token })).toMatchObject(described);
    await service.alerts.confirmRecipient({ token });
    await service.alerts.confirmRecipient({ token });
    expect(await service.alerts.describeRecipient({ token })).toMatchObject({ ...described, confirmed: true });
    expect(await send(tenant)).toEqual([outside, 'viewer@example.com', owner]);
    const { rules } = await service.alerts.listRules(tenant);
    expect(rules.flatMap(({ unconfirmed }) => unconfirmed)).toEqual([]);
    expect(await actionsOf(tenant)).toMatchObject([
      { action: 'alert_rule.updated' },
      { action: 'alert_rule.tested' },
      { action: 'alert_recipient.confirmed', target_id: outside },
      { action: 'alert_rule.tested' },
    ]);
    // A confirmation applies to its workspace only.
    const other = newWorkspace();
    expect((await setRecipients(other, outside)).rule?.unconfirmed).toEqual([outside]);
    expect(await send(other)).toEqual([owner]);
  });

  test('outside the workspace are asked once a day, regardless of the rule', async () => {
    const tenant = newWorkspace();
    await setRecipients(tenant, outside);
    await setRecipients(tenant);
    await setRecipients(tenant, outside.toUpperCase());
    await service.alerts.updateRule({ ...tenant, kind: AlertKind.KEY_EXPIRY, recipients: { addresses: [outside] } });
    expect(await emailsTo(outside)).toHaveLength(1);
  });

  test('are asked to confirm at most three times in a row across all workspaces', async () => {
    for (let i = 0; i < 3; i += 1) await setRecipients(newWorkspace(), outside);
    const tenant = newWorkspace();
    const refused = setRecipients(tenant, 'first@partner.example', outside);
    await expect(refused).rejects.toMatchObject({
      code: 'rate_limit_exceeded',
      message: `Too many emails to ${outside} were requested. Try again in 6 hours.`,
      retryAfterSeconds: expect.any(Number),
    });
    expect(await emailsTo(outside)).toHaveLength(3);
    expect(await emailsTo('first@partner.example')).toEqual([]);
    expect((await service.alerts.listRules(tenant)).rules.every(({ updateTime }) => updateTime === undefined)).toBe(
      true,
    );
  });

  test('get a limited number of test emails, per workspace and per recipient across all workspaces', async () => {
    const tenant = newWorkspace();
    const tests = await Promise.allSettled(Array.from({ length: 30 }, () => send(tenant)));
    const rejected = tests.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(rejected).toHaveLength(20);
    for (const { reason } of rejected) expect(reason).toMatchObject({ code: 'rate_limit_exceeded' });
    expect(await emailsTo(owner)).toHaveLength(10);
    // The same recipient in another workspace is protected; other recipients are not affected.
    const other = newWorkspace();
    await expect(send(other)).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    await service.alerts.updateRule({
      ...other,
      kind,
      toOwners: false,
      recipients: { addresses: ['viewer@example.com'] },
    });
    expect(await send(other)).toEqual(['viewer@example.com']);
  });

  test('of a test email, and the user who sent it, are in the audit log', async () => {
    const tenant = newWorkspace();
    await service.alerts.testRule({ ...tenant, kind }, asUser(owner));
    expect(await actionsOf(tenant)).toMatchObject([
      {
        actor: `user:${userIdOf(owner)}`,
        action: 'alert_rule.tested',
        target_id: 'quota',
        details: { recipients: [owner] },
      },
    ]);
  });

  test('alone can undo their unsubscription', async () => {
    const tenant = newWorkspace();
    await setRecipients(tenant, 'viewer@example.com');
    await send(tenant);
    const [text = ''] = await emailsTo('viewer@example.com');
    const [, token = '', undoToken = ''] = /unsubscribe\?token=([\w-]+)#([\w-]+)/.exec(text) ?? [];
    await service.alerts.unsubscribe({ token });
    const undo = (options?: ReturnType<typeof asUser>) =>
      service.alerts.updateRule({ ...tenant, kind, unsubscribed: { addresses: [] } }, options);
    for (const options of [undefined, asUser(owner), { context: { actor: 'operator:alice@laptop' } }]) {
      await expect(undo(options)).rejects.toMatchObject({
        code: 'invalid_request',
        details: [expect.objectContaining({ field: 'unsubscribed' })],
      });
    }
    expect(await send(tenant)).toEqual([owner]);
    // With the link, and as the signed-in user with this address.
    await service.alerts.resubscribe({ token: undoToken });
    expect(await send(tenant)).toEqual(['viewer@example.com', owner]);
    await service.alerts.unsubscribe({ token });
    expect((await undo(asUser('viewer@example.com'))).rule?.unsubscribed).toEqual([]);
    expect(await send(tenant)).toEqual(['viewer@example.com', owner]);
    expect((await actionsOf(tenant)).map(({ action }) => action)).toContain('alert_rule.resubscribed');
  });

  test('confirm with a link that is for one address and workspace, expires, and cannot be forged', async () => {
    const key = Buffer.alloc(32, 7);
    const one = { workspaceId: 'ws_1', address: outside };
    const token = makeConfirmationToken([key], one, 0);
    expect(readConfirmationToken([Buffer.alloc(32, 8), key], token, 0)).toEqual(one);
    expect(readConfirmationToken([key], token, confirmationLifeSeconds * 1_000)).toBe(undefined);
    expect(readConfirmationToken([Buffer.alloc(32, 8)], token, 0)).toBe(undefined);
    expect(readConfirmationToken([key], `${token}x`, 0)).toBe(undefined);
    for (const call of ['describeRecipient', 'confirmRecipient', 'resubscribe'] as const) {
      await expect(service.alerts[call]({ token })).rejects.toMatchObject({ code: 'invalid_request' });
    }
  });
});
