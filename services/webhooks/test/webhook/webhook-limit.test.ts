import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite } from '@rms/testkit';
import { newTenant, startWebhooks, type Tenant, webhooksDatabase } from '../support.ts';

const url = 'http://127.0.0.1:65535/hook';

describe('the number of webhooks of a workspace', () => {
  const rms = perSuite(() => startWebhooks({ maxWebhooks: 3 }));

  const make = (tenant: Tenant, idempotencyKey = '') =>
    rms.webhooks.createWebhook({ ...tenant, url, events: ['*'], idempotencyKey });
  const total = async (tenant: Tenant) =>
    Number((await rms.webhooks.listWebhooks({ ...tenant, pageSize: 1 })).totalSize);

  test('is limited, even under concurrent requests; the error names the limit', async () => {
    const tenant = newTenant();
    const created = await Promise.allSettled(Array.from({ length: 8 }, () => make(tenant)));
    const rejected = created.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(rejected).toHaveLength(5);
    expect(rejected[0]).toMatchObject({
      code: 'conflict',
      message: 'The workspace has reached its limit of 3 webhooks. Delete webhooks that are not needed.',
    });
    expect(await total(tenant)).toBe(3);
    await make(newTenant());
  });

  test('is limited by the plan instead, if the plan sets a limit; existing webhooks above it are kept', async () => {
    const tenant = newTenant();
    const makeOnPlan = (maxWebhooks: bigint) =>
      rms.webhooks.createWebhook({ ...tenant, url, events: ['*'], maxWebhooks });
    for (let i = 0; i < 4; i += 1) await makeOnPlan(i === 0 ? 1n : 4n);
    await expect(makeOnPlan(4n)).rejects.toMatchObject({
      code: 'conflict',
      message: 'The workspace has reached its limit of 4 webhooks. Delete webhooks that are not needed.',
    });
    await expect(makeOnPlan(2n)).rejects.toMatchObject({ message: expect.stringContaining('limit of 2 webhooks') });
    await makeOnPlan(0n);
    expect(await total(tenant)).toBe(5);
  });

  test('counts both environments; deleting a webhook allows another one', async () => {
    const live = newTenant();
    const sandbox = { ...live, environment: Environment.SANDBOX };
    const { webhook } = await make(live);
    await make(sandbox);
    await make(sandbox);
    await expect(make(live)).rejects.toMatchObject({ code: 'conflict' });
    await rms.webhooks.deleteWebhook({ ...live, id: webhook?.id ?? '' });
    await make(live);
  });

  test('does not affect the response to a repeated request, or webhooks above the limit', async () => {
    const tenant = newTenant();
    const first = await make(tenant, 'key');
    await make(tenant);
    await make(tenant);
    expect((await make(tenant, 'key')).webhook?.id).toBe(first.webhook?.id);
    await rms.database.pool.query(
      `insert into webhooks.webhooks
       select (jsonb_populate_record(w, jsonb_build_object('id', $2::text))).*
         from webhooks.webhooks as w where w.id = $1`,
      [first.webhook?.id, newId('wh')],
    );
    expect(await total(tenant)).toBe(4);
    await rms.webhooks.updateWebhook({
      ...tenant,
      id: first.webhook?.id ?? '',
      events: { types: ['resource.deleted'] },
    });
  });
});

test('0 webhooks per workspace means no limit', async () => {
  const database = await webhooksDatabase();
  const rms = await startWebhooks({ maxWebhooks: 0 }, { given: database });
  const tenant = newTenant();
  await rms.webhooks.createWebhook({ ...tenant, url, events: ['*'] });
  await rms.webhooks.createWebhook({ ...tenant, url, events: ['*'] });
  await rms.stop();
  await database.drop();
});
