import { newId } from '@rms/base/ids';
import { sweepDeletedWorkspaces } from '@rms/postgres/workspace-deletion';
import { describeDeletion } from '@rms/postgres/workspace-deletion/describe-deletion';
import { WorkspaceDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { perSuite, rowsOfWorkspace, startReceiver, waitUntil } from '@rms/testkit';
import { createHousekeeping } from '../src/housekeeping.ts';
import { contents } from '../src/workspace/contents.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, webhooksDatabase } from './support.ts';

const log = createLogger({ name: 'test', level: 'silent' });

describeDeletion({
  contents,
  async createDatabase() {
    const database = await webhooksDatabase();
    database.breaks(['positions', 'deliveries'], 'has rows of every table that do not belong together');
    return database;
  },
  special: {
    // Partitions exist only around the current day.
    'webhooks.events.id': "webhooks.first_id('evt', now()) || row.text",
    'webhooks.delivery_log.id': "webhooks.first_id('dlv', now()) || row.text",
    'webhooks.deliveries.id': "webhooks.first_id('dlv', now()) || row.text",
  },
  housekeep: (pool, signal) => {
    const metrics = createMetrics('webhooks');
    const settings = { eraseOnDelete: false, retentionDays: 30, counters: [], reportRejected: () => {} };
    return createHousekeeping({
      pool,
      lanes: { mayHaveRows: true },
      endCounts: { mayHaveRows: true },
      log,
      metrics,
      ...settings,
    }).run(signal);
  },
});

describe('the methods for the deletion of a workspace', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);
  const deletion = perSuite(() => createClient(WorkspaceDeletionService, { target: rms.address, timeoutMs: 60_000 }));

  const subscribe = (tenant: Tenant) => rms.subscribe(tenant, receiver.url);
  const remaining = async ({ workspaceId }: Tenant) => {
    const { pool } = rms.database;
    const { 'audit.entries': _, 'webhooks.deleted_workspaces': __, ...rest } = await rowsOfWorkspace(pool, workspaceId);
    return Object.values(rest).flat();
  };

  test('count the webhooks of both environments, and delete them with their deliveries and events', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await rms.publish(newEvent(tenant), newEvent(tenant));
    await rms.settled(tenant, 2);
    const { workspaceId } = tenant;
    expect((await deletion.countContents({ workspaceId })).counts).toEqual({ webhooks: 1n });
    const { deleted, nextPageToken } = await deletion.deleteContents({ workspaceId });
    expect([deleted, nextPageToken]).toEqual([
      expect.objectContaining({
        'webhooks.webhooks': 1n,
        'webhooks.events': 2n,
        'webhooks.delivery_log': 2n,
        'webhooks.endpoints': 1n,
      }),
      '',
    ]);
    expect((await deletion.countContents({ workspaceId })).counts).toEqual({ webhooks: 0n });
    await waitUntil(async () => (await remaining(tenant)).length === 0, { what: 'no rows of the workspace' });
  });

  test('an event that arrives later is not delivered, does not block others, and is deleted by the next sweep', async () => {
    const [deleted, other] = [newTenant(), newTenant()];
    for (const tenant of [deleted, other]) await subscribe(tenant);
    const { workspaceId } = deleted;
    await deletion.deleteContents({ workspaceId });
    const late = newEvent(deleted);
    await rms.publish(late, newEvent(other));
    await rms.settled(other, 1);
    expect(receiver.requests.filter(({ json }) => json.id === late.id)).toEqual([]);
    expect(await rms.list(deleted)).toEqual([]);
    const { pool } = rms.database;
    await pool.query('update webhooks.deleted_workspaces set sweep_at = now() where workspace_id = $1', [workspaceId]);
    await sweepDeletedWorkspaces({ pool, contents, log }, new AbortController().signal);
    expect(await remaining(deleted)).toEqual([]);
    expect(await rms.list(other)).toHaveLength(1);
  });

  test.each(['', newId('wh')])('refuse %j as a workspace', async (workspaceId) => {
    await expect(deletion.deleteContents({ workspaceId })).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(deletion.countContents({ workspaceId })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
