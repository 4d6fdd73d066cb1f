import { newId } from '@rms/base/ids';
import { migrations as audit } from '@rms/postgres/audit';
import { describeDeletion } from '@rms/postgres/workspace-deletion/describe-deletion';
import { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { perSuite, testDatabase } from '@rms/testkit';
import { contents } from '../src/deletion/contents.ts';
import { createHousekeeping } from '../src/housekeeping.ts';
import { migrations, outboxMigrations as outbox } from '../src/migrations.ts';
import { createOne, newCaller, startResources } from './support.ts';

const log = createLogger({ name: 'test', level: 'silent' });

describeDeletion({
  contents,
  createDatabase: () => testDatabase([audit, outbox, migrations]),
  housekeep: (pool, signal) => createHousekeeping({ pool, log, metrics: createMetrics('resources') }).run(signal),
});

describe('the methods for the deletion of a workspace', () => {
  const service = perSuite(startResources);
  const deletion = perSuite(() =>
    createClient(WorkspaceDeletionService, { target: service.address, timeoutMs: 60_000 }),
  );

  test('counts the resources of both environments, and deletes them and their events', async () => {
    const caller = newCaller();
    const workspaceId = caller.principal?.workspaceId ?? '';
    for (let i = 0; i < 3; i += 1) await createOne(service.client, caller);
    expect((await deletion.countContents({ workspaceId })).counts).toEqual({ resources: 3n });
    const { deleted, nextPageToken } = await deletion.deleteContents({ workspaceId });
    expect([deleted, nextPageToken]).toEqual([
      expect.objectContaining({ 'resources.resources': 3n, 'outbox.events': 3n }),
      '',
    ]);
    expect((await deletion.countContents({ workspaceId })).counts).toEqual({ resources: 0n });
  });

  test('deletes thousands of rows in batches, and continues at the position of a page token', async () => {
    const { pool } = service.database;
    const workspaceId = newId('ws');
    const insert = () =>
      pool.query(
        `insert into resources.resources (workspace_id, environment, id, status, name, metadata, input_type, created_at,
                                          updated_at, sequence)
         select $1, 'live', 'res_' || lpad(i::text, 5, '0'), 'active', 'n', '{}', '', now(), now(), 1
           from generate_series(1, 1700) as i`,
        [workspaceId],
      );
    await insert();
    const pageToken = JSON.stringify(['resources.resources', 'live', 'res_00700']);
    const partly = await deletion.deleteContents({ workspaceId, pageToken });
    expect([partly.deleted, partly.nextPageToken]).toEqual([{ 'resources.resources': 1000n }, '']);
    const whole = await deletion.deleteContents({ workspaceId });
    expect(whole.deleted).toEqual({ 'resources.resources': 1700n });
    expect((await pool.query('select from resources.resources where workspace_id = $1', [workspaceId])).rowCount).toBe(
      0,
    );
  });

  test.each(['', 'acme', newId('res')])('refuses %j as a workspace', async (workspaceId) => {
    await expect(deletion.deleteContents({ workspaceId })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(deletion.countContents({ workspaceId })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test.each(['x', '[]', '["resources.other","live",null]', '["resources.resources","live",1]'])(
    'refuses the page token %s',
    async (pageToken) => {
      await expect(deletion.deleteContents({ workspaceId: newId('ws'), pageToken })).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ field: 'page_token' }],
      });
    },
  );
});
