import { listAudit } from '@rms/postgres/audit';
import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import {
  type AuditedCases,
  auditedChain,
  auditedSecrets,
  disposable,
  perSuite,
  readAudited,
  testAuditedCases,
} from '@rms/testkit';
import { createOne, eventsOf, itemOf, newCaller, startResources } from './support.ts';

const ann = 'ann@example.com';

describe('Changes of resources', () => {
  const rms = perSuite(startResources);

  type Caller = ReturnType<typeof newCaller>;
  /** Turns the caller into a dashboard user. The principal only identifies the tenant. */
  const asUser = (caller: Caller, { actor = 'user:usr_1', requestId = 'req_dashboard' } = {}): Caller =>
    ({ ...caller, actor, actorName: ann, clientAddress: '192.0.2.7', requestId }) as Caller;
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

  const cases: AuditedCases = {
    'ResourcesService/batchCreateResources': async (requestId) => {
      const user = asUser(newCaller(), { requestId });
      const more = { idempotencyKey: 'once', metadataJson: '{"team":"blue","api_token":"hunter2"}' };
      for (let i = 0; i < 2; i += 1) await createOne(rms.client, user, 'Orders', more);
      const metadata = { 'metadata.api_token': [null, '[secret]'], 'metadata.team': [null, 'blue'] } as const;
      const changes = { status: [null, 'active'], name: [null, 'Orders'], input_type: [null, 'standard'] } as const;
      return [['resource.created', 'Orders', ann, { ...changes, ...metadata }]];
    },
    'ResourcesService/batchUpdateResources': async (requestId) => {
      const caller = newCaller();
      const { id } = await createOne(rms.client, caller, 'Orders', { metadataJson: '{"team":"blue","zone":"a"}' });
      const change = { name: 'All orders', status: ResourceStatus.INACTIVE, metadataJson: '{"zone":"a","team":"red"}' };
      // The second call changes nothing.
      for (let i = 0; i < 2; i += 1) itemOf((await update(asUser(caller, { requestId }), id, change)).results[0]);
      const changes = { status: ['active', 'inactive'], name: ['Orders', 'All orders'] } as const;
      return [['resource.updated', 'All orders', ann, { ...changes, 'metadata.team': ['blue', 'red'] }]];
    },
    'ResourcesService/batchDeleteResources': async (requestId) => {
      const caller = newCaller();
      const { id } = await createOne(rms.client, caller, 'Orders');
      const context = asUser(caller, { requestId });
      for (let i = 0; i < 2; i += 1) await rms.client.batchDeleteResources({ requests: [{ context, id }] });
      const changes = { status: ['active', null], name: ['Orders', null], input_type: ['standard', null] } as const;
      return [['resource.deleted', 'Orders', ann, changes]];
    },
    'ResourcesService/batchGetResources': undefined,
    'ResourcesService/listResources': undefined,
  };

  testAuditedCases([ResourcesService], cases, () => rms.database.pool);

  test('name the user, the address, the request and the environment', async () => {
    const caller = newCaller();
    const { id } = await createOne(rms.client, asUser(caller));
    expect(await audited(caller)).toMatchObject([
      {
        ...{ actor: 'user:usr_1', actorName: ann, address: '192.0.2.7', requestId: 'req_dashboard' },
        ...{ environment: 'live', action: 'resource.created', targetId: id, targetName: 'thing' },
      },
    ]);
  });

  test('of concurrent calls form a chain: each begins with the values with which the previous one ended', async () => {
    const user = asUser(newCaller());
    const { id } = await createOne(rms.client, user, 'n0');
    await Promise.all(Array.from({ length: 20 }, (_, i) => update(user, id, { name: `n${i + 1}` })));
    const chain = await auditedChain(rms.database.pool, id, 'name');
    const { results } = await rms.client.batchGetResources({ requests: [{ context: user, id }] });
    expect([chain.length, chain.at(-1)]).toEqual([22, itemOf(results[0]).name]);
  });

  test('with ERASE_ON_DELETE, have neither the name nor the metadata of the resource', async () => {
    await using erasing = disposable(await startResources(1, undefined, true));
    const user = asUser(newCaller(), { requestId: 'req_erasing' });
    const metadataJson = '{"owner":"private person"}';
    const { id } = await createOne(erasing.client, user, 'private name', { metadataJson });
    const change = { name: 'other private name', status: ResourceStatus.INACTIVE };
    await erasing.client.batchUpdateResources({ requests: [{ context: user, id, ...change }] });
    await erasing.client.batchDeleteResources({ requests: [{ context: user, id }] });
    const [gone, type] = ['[secret]', 'standard'];
    expect(await readAudited(erasing.database.pool, 'req_erasing')).toEqual([
      [
        ...['resource.created', '', ann],
        { status: [null, 'active'], name: [null, gone], metadata: [null, gone], input_type: [null, type] },
      ],
      ['resource.updated', '', ann, { status: ['active', 'inactive'], name: [gone, gone] }],
      [
        ...['resource.deleted', '', ann],
        { status: ['inactive', null], name: [gone, null], metadata: [gone, null], input_type: [type, null] },
      ],
    ]);
    expect(await auditedSecrets(erasing.database.pool, ['private'])).toEqual([]);
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
    const [ann, bob] = [asUser(caller, { actor: 'user:usr_ann' }), asUser(caller, { actor: 'user:usr_bob' })];
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
