import { createCipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { createSecretBox } from '@rms/base/secrets';
import { perTest, startReceiver } from '@rms/testkit';
import { secretContext } from '../src/secrets/contexts.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, webhooksDatabase } from './support.ts';

type Instance = Awaited<ReturnType<typeof startWebhooks>>;

const [oldKey, newKey, otherKey] = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;

describe('a rotation of the encryption key', () => {
  const instances: Instance[] = [];
  afterEach(async () => {
    for (const instance of instances.splice(0)) await instance.stop();
  });
  const database = perTest(webhooksDatabase);
  const receiver = perTest(startReceiver);

  const start = async (...keys: [Buffer, ...Buffer[]]) => {
    const instance = await startWebhooks({ secretKeys: keys, pageTokenKeys: keys }, { given: database });
    instances.push(instance);
    return instance;
  };
  /** Stops the running instances and starts one with other keys. */
  const restart = async (...keys: [Buffer, ...Buffer[]]) => {
    for (const instance of instances.splice(0)) await instance.stop();
    return start(...keys);
  };
  const subscribe = async (rms: Instance, tenant: Tenant, idempotencyKey = '') => {
    const request = { ...tenant, url: receiver.url, events: ['*'], idempotencyKey };
    const { webhook, secret, replayed } = await rms.webhooks.createWebhook(request);
    return { id: webhook?.id ?? '', secret, replayed };
  };
  const rotate = async (rms: Instance) => {
    const sum = { resealed: 0, unreadable: 0, calls: 0 };
    for (let pageToken = ''; ; ) {
      const batch = await rms.secrets.reencryptSecrets({ pageToken });
      sum.resealed += batch.resealed;
      sum.unreadable += batch.unreadable;
      sum.calls += 1;
      pageToken = batch.nextPageToken;
      if (pageToken === '') return { ...sum, sealed: batch.sealed.map(({ current, count }) => ({ current, count })) };
    }
  };
  /** Publishes one event and expects it to be delivered with a signature by this secret. */
  const expectSigned = async (rms: Instance, tenant: Tenant, secret: string) => {
    const event = newEvent(tenant);
    await rms.publish(event);
    const { body, headers } = await receiver.waitFor(({ json }) => json.id === event.id, 'the delivery');
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
  };
  /** Inserts webhooks directly, with secrets encrypted with `key`. */
  const storeWebhooks = async (
    key: Buffer,
    count: number,
    make = (i: number) => `wh_${String(i).padStart(8, '0')}`,
  ) => {
    const box = createSecretBox(key);
    const ids = Array.from({ length: count }, (_, i) => make(i));
    const tenant = newTenant();
    await database.pool.query(
      `insert into webhooks.webhooks (workspace_id, environment, id, url, events, status, secret_sealed, max_retries,
                                      initial_delay_ms, max_delay_ms, created_at, updated_at)
       select $1, 'live', id, 'http://127.0.0.1:65535/', '{*}', 'active', sealed, 0, 1, 1, now(), now()
         from unnest($2::text[], $3::bytea[]) as w (id, sealed)`,
      [
        tenant.workspaceId,
        ids,
        ids.map((id) => box.seal(`whsec_${id}`, secretContext({ ...tenant, environment: 'live', webhookId: id }))),
      ],
    );
    return { tenant, ids };
  };
  const secretsOf = async (key: Buffer, { workspaceId }: Tenant) => {
    const contextOf = (webhookId: string) => secretContext({ workspaceId, environment: 'live', webhookId });
    const { rows } = await database.pool.query<{ id: string; secret_sealed: Buffer }>(
      'select id, secret_sealed from webhooks.webhooks where workspace_id = $1 order by id',
      [workspaceId],
    );
    const box = createSecretBox(key);
    return rows.map(({ id, secret_sealed }) => box.open(secret_sealed, contextOf(id)).toString('utf8'));
  };

  test('deliveries are signed with the same secret before, during and after it; afterwards the old key is not needed', async () => {
    const tenant = newTenant();
    let rms = await start(oldKey);
    const { id, secret } = await subscribe(rms, tenant, 'kept');
    await expectSigned(rms, tenant, secret);
    rms = await restart(newKey, oldKey);
    await expectSigned(rms, tenant, secret);
    const late = await subscribe(rms, newTenant());
    expect(await rotate(rms)).toMatchObject({ resealed: 2, unreadable: 0, sealed: [{ current: true, count: 3n }] });
    await expectSigned(rms, tenant, secret);
    expect(await rotate(rms)).toMatchObject({ resealed: 0, sealed: [{ current: true, count: 3n }] });
    rms = await restart(newKey);
    await expectSigned(rms, tenant, secret);
    expect(await subscribe(rms, tenant, 'kept')).toEqual({ id, secret, replayed: true });
    expect(late.id).not.toBe(id);
  });

  test('secrets of the first format, bound to an ID only, are used and re-encrypted without a new key', async () => {
    const { tenant, ids } = await storeWebhooks(oldKey, 1);
    const [id = ''] = ids;
    await database.pool.query('update webhooks.webhooks set secret_sealed = $2 where id = $1', [
      id,
      sealInFirstFormat(oldKey, `whsec_${id}`, id),
    ]);
    const rms = await start(oldKey);
    expect(await secretsOf(oldKey, tenant)).toEqual([`whsec_${id}`]);
    expect(await rotate(rms)).toMatchObject({ resealed: 1, unreadable: 0, sealed: [{ current: true, count: 1n }] });
    expect(await secretsOf(oldKey, tenant)).toEqual([`whsec_${id}`]);
  });

  test('a response stored for an Idempotency-Key is replayed before it is re-encrypted', async () => {
    const tenant = newTenant();
    const created = await subscribe(await start(oldKey), tenant, 'kept');
    expect(await subscribe(await restart(newKey, oldKey), tenant, 'kept')).toEqual({ ...created, replayed: true });
  });

  test('an old page token is valid while its key is a previous key', async () => {
    const tenant = newTenant();
    let rms = await start(oldKey);
    const ids = [await subscribe(rms, tenant), await subscribe(rms, tenant)].map(({ id }) => id);
    const { nextPageToken: pageToken } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 1 });
    rms = await restart(newKey, oldKey);
    const { webhooks } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 1, pageToken });
    expect(webhooks.map(({ id }) => id)).toEqual(ids.slice(0, 1));
    await rotate(rms);
    rms = await restart(newKey);
    await expect(rms.webhooks.listWebhooks({ ...tenant, pageSize: 1, pageToken })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  test('concurrent instances re-encrypt each secret exactly once and do not change it', async () => {
    const { tenant, ids } = await storeWebhooks(oldKey, 2_345);
    const all = [await start(newKey, oldKey), await start(newKey, oldKey), await start(newKey, oldKey)];
    const sums = await Promise.all(all.map(rotate));
    expect(sums.reduce((sum, { resealed }) => sum + resealed, 0)).toBe(2_345);
    for (const { sealed, unreadable } of sums.slice(-1)) expect([sealed.length, unreadable]).toEqual([1, 0]);
    expect(await secretsOf(newKey, tenant)).toEqual(ids.map((id) => `whsec_${id}`));
  });

  test('a secret rotated by its owner in the meantime is not overwritten', async () => {
    const before = await start(oldKey);
    const tenants = Array.from({ length: 60 }, () => newTenant());
    const created = await Promise.all(tenants.map((tenant) => subscribe(before, tenant)));
    const rms = await restart(newKey, oldKey);
    const [rotated] = await Promise.all([
      Promise.all(tenants.map((tenant, i) => rms.webhooks.rotateSecret({ ...tenant, id: created[i]?.id as string }))),
      rotate(rms),
      rotate(rms),
    ]);
    for (const [i, tenant] of tenants.entries()) expect(await secretsOf(newKey, tenant)).toEqual([rotated[i]?.secret]);
  });

  test('an interrupted re-encryption can be restarted and processes the remaining secrets', async () => {
    const { tenant, ids } = await storeWebhooks(oldKey, 1_200);
    const rms = await start(newKey, oldKey);
    const first = await rms.secrets.reencryptSecrets({});
    expect(first).toMatchObject({ resealed: 500, unreadable: 0, sealed: [] });
    // A failing batch leaves its rows unchanged.
    await database.pool.query(`
      create function webhooks.fail() returns trigger language plpgsql as $$ begin raise 'disk full'; end $$;
      create trigger fail before update on webhooks.webhooks for each row when (new.id > 'wh_00000900')
        execute function webhooks.fail()`);
    await expect(rms.secrets.reencryptSecrets({ pageToken: first.nextPageToken })).rejects.toMatchObject({
      code: 'internal_error',
    });
    await database.pool.query('drop trigger fail on webhooks.webhooks');
    expect(await rotate(await restart(newKey, oldKey))).toMatchObject({ resealed: 700, unreadable: 0 });
    expect(await secretsOf(newKey, tenant)).toEqual(ids.map((id) => `whsec_${id}`));
  });

  test('secrets that no key decrypts are counted and listed, stay unchanged, and do not stop the re-encryption', async () => {
    const lost = await storeWebhooks(otherKey, 600, (i) => `wh_lost${String(i).padStart(4, '0')}`);
    await storeWebhooks(oldKey, 3);
    const rms = await start(newKey, oldKey);
    const first = await rms.secrets.reencryptSecrets({});
    expect(first.unreadable + first.resealed).toBe(500);
    expect(first.unreadableWebhooks.length).toBe(first.unreadable);
    expect(lost.ids).toContain(first.unreadableWebhooks[0]?.id);
    const whole = await rotate(rms);
    expect(whole).toMatchObject({ unreadable: 600, calls: 6 });
    expect(whole.sealed).toContainEqual({ current: false, count: 600n });
    expect(await secretsOf(otherKey, lost.tenant)).toHaveLength(600);
    // The missing key is configured again.
    expect(await rotate(await restart(newKey, otherKey))).toMatchObject({ resealed: 600, unreadable: 0 });
  });

  test('expired idempotency records do not block the rotation', async () => {
    await subscribe(await start(otherKey), newTenant(), 'kept');
    await database.pool.query("update webhooks.idempotency_keys set expires_at = now() - interval '1 second'");
    const { sealed } = await rotate(await restart(newKey, otherKey));
    expect(sealed).toEqual([{ current: true, count: 1n }]);
  });
});

/** Encrypts in the first format, with a single text as context. */
function sealInFirstFormat(key: Buffer, plain: string, context: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context));
  const text = Buffer.concat([cipher.update(plain), cipher.final()]);
  const keyId = createHash('sha256').update('rms key id').update(key).digest().subarray(0, 4);
  return Buffer.concat([keyId, iv, cipher.getAuthTag(), text]);
}
