import { listAudit } from '@rms/audit';
import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { createOne, eventsOf, itemOf, newCaller, startResources } from './support.ts';

describe('Changes of resources', () => {
  let rms: Awaited<ReturnType<typeof startResources>>;
  beforeAll(async () => {
    rms = await startResources();
  });
  afterAll(() => rms?.stop());

  type Caller = ReturnType<typeof newCaller>;
  /** Turns the caller into a dashboard user. The principal only identifies the tenant. */
  const asUser = (caller: Caller, actor = 'user:usr_1'): Caller =>
    ({ ...caller, actor, clientAddress: '192.0.2.7', requestId: 'req_dashboard' }) as Caller;
  const audited = async (caller: Caller) => {
    const workspaceId = caller.principal?.workspaceId ?? '';
    const entries = await listAudit(rms.database.pool, {
      workspaceId,
      targetId: '',
      action: '',
      since: undefined,
      start: undefined,
      limit: 100,
    });
    return entries.toReversed();
  };
  const update = (context: Caller, id: string, change: object) =>
    rms.client.batchUpdateResources({ requests: [{ context, id, ...change }] });

  test('by a user are in the audit log, with the names of the changed attributes but not their values', async () => {
    const caller = newCaller();
    const user = asUser(caller);
    const { id } = await createOne(rms.client, user, 'private name', { idempotencyKey: 'once' });
    await createOne(rms.client, user, 'private name', { idempotencyKey: 'once' });
    const change = { name: 'other private name', status: ResourceStatus.INACTIVE, metadataJson: '{"a":"secret"}' };
    itemOf((await update(user, id, change)).results[0]);
    // Changes nothing.
    await update(user, id, { name: 'other private name' });
    await rms.client.batchDeleteResources({ requests: [{ context: user, id }] });
    await rms.client.batchDeleteResources({ requests: [{ context: user, id }] });

    const entries = await audited(caller);
    const by = {
      actor: 'user:usr_1',
      address: '192.0.2.7',
      requestId: 'req_dashboard',
      environment: 'live',
      targetId: id,
    };
    expect(entries).toMatchObject([
      { ...by, action: 'resource.created', details: {} },
      { ...by, action: 'resource.updated', details: { changed: ['name', 'status', 'metadata'] } },
      { ...by, action: 'resource.deleted', details: {} },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/private name|secret/);
  });

  test('by an API key are not in the audit log', async () => {
    const caller = newCaller();
    const { id } = await createOne(rms.client, caller);
    await update(caller, id, { name: 'new' });
    await rms.client.batchDeleteResources({ requests: [{ context: caller, id }] });
    expect(await audited(caller)).toEqual([]);
  });

  test('of several callers in one batch each name their own actor, in the audit log and in the event', async () => {
    const caller = newCaller();
    const [ann, bob] = [asUser(caller, 'user:usr_ann'), asUser(caller, 'user:usr_bob')];
    const { results } = await rms.client.batchCreateResources({
      requests: [ann, caller, bob].map((context, i) => ({ context, name: `r${i}` })),
    });
    const ids = results.map((result) => itemOf(result).id);
    await rms.client.batchUpdateResources({
      requests: [bob, ann, caller].map((context, i) => ({ context, id: ids[i] ?? '', name: 'changed' })),
    });
    const byKey = `key:${caller.principal?.keyId}`;
    expect((await audited(caller)).map(({ actor, action, targetId }) => [actor, action, targetId]).sort()).toEqual(
      [
        ['user:usr_ann', 'resource.created', ids[0]],
        ['user:usr_bob', 'resource.created', ids[2]],
        ['user:usr_bob', 'resource.updated', ids[0]],
        ['user:usr_ann', 'resource.updated', ids[1]],
      ].sort(),
    );
    const events = await eventsOf(rms.database, caller);
    const actorsOf = (type: string) =>
      ids.map((id) => events.find((event) => event.type === type && event.resourceId === id)?.actor);
    expect(actorsOf('resource.created')).toEqual(['user:usr_ann', byKey, 'user:usr_bob']);
    expect(actorsOf('resource.updated')).toEqual(['user:usr_bob', 'user:usr_ann', byKey]);
  });
});
