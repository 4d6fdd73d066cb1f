import { create } from '@bufbuild/protobuf';
import { keyDocument } from '@rms/api/key/document';
import { newId } from '@rms/base/ids';
import { inTransaction } from '@rms/postgres/db';
import { queueEvents, readEvents } from '@rms/postgres/operational-events';
import { KeySchema } from '@rms/proto/rms/auth/v1/key_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { createClient } from '@rms/rpc';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('operational events of keys', () => {
  const auth = perSuite(startAuth);
  const events = perSuite(
    async () => createClient(OperationalEventsService, { target: auth.address, timeoutMs: 60_000 }),
    { end: (client) => client.close() },
  );
  const eventsOf = async (workspace: string) => {
    const { events: all } = await events.listOperationalEvents({ limit: 500 });
    return all
      .filter(({ workspaceId }) => workspaceId === workspace)
      .map(({ type, body }) => ({ type, ...JSON.parse(Buffer.from(body).toString('utf8')).data.object }));
  };

  test('a created, rolled and revoked key: once each, as GET returns it, and never with its value', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    const { key: successor, keyValue } = await auth.keys.rollKey({ workspaceId, id });
    const newId = successor?.id ?? '';
    for (let i = 0; i < 2; i += 1) await auth.keys.revokeKey({ workspaceId, id: newId });
    const found = await eventsOf(workspaceId);
    expect(found.map(({ type, id, status, version }) => [type, id, status, version])).toEqual([
      ['api_key', id, 'active', 1],
      ['api_key', id, 'rolled', 2],
      ['api_key', newId, 'active', 1],
      ['api_key', newId, 'revoked', 2],
    ]);
    const { key } = await auth.keys.getKey({ workspaceId, id: newId });
    expect(found[3]).toEqual({ ...keyDocument(key && create(KeySchema, key)), version: 2 });
    for (const secret of [value, keyValue]) expect(JSON.stringify(found)).not.toContain(secret);
  });

  test('a change that is rolled back causes no event', async () => {
    const { workspaceId, id } = await auth.newKey();
    await expect(auth.keys.revokeKey({ workspaceId, id, expectedVersions: [7n] })).rejects.toMatchObject({
      code: 'precondition_failed',
    });
    expect(await eventsOf(workspaceId)).toHaveLength(1);
  });

  test('a workspace with many events does not delay the others', async () => {
    const { pool } = auth.database;
    await pool.query('delete from auth.operational_events');
    const [busy, quiet] = [newId('ws'), newId('ws')];
    const eventOf = (workspaceId: string, version: number) => ({
      ...{ type: 'api_key.created', workspaceId, environment: 'live', subjectId: 'key_1', object: { version } },
      origin: { actor: '', requestId: '' },
    });
    const queue = (workspaceId: string, count: number) =>
      inTransaction(pool, (tx) =>
        queueEvents(tx, 'auth', Array.from({ length: count }, (_, i) => eventOf(workspaceId, i)) as never),
      );
    await queue(busy, 100);
    await queue(quiet, 1);
    const listed = await readEvents(pool, 'auth', 10);
    expect(listed.filter(({ workspaceId }) => workspaceId === quiet)).toHaveLength(1);
    expect(listed.filter(({ workspaceId }) => workspaceId === busy).map(({ sequence }) => sequence)).toEqual([
      0n,
      1n,
      2n,
      3n,
      4n,
    ]);
  });
});
