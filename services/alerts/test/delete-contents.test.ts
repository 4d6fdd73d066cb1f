import { describeDeletion } from '@rms/postgres/workspace-deletion/describe-deletion';
import { WorkspaceDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import { createClient } from '@rms/rpc';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { perSuite } from '@rms/testkit';
import { contents } from '../src/deletion/contents.ts';
import { createHousekeeping } from '../src/housekeeping.ts';
import { alertsDatabase, startAlerts } from './support.ts';

const log = createLogger({ name: 'test', level: 'silent' });

describeDeletion({
  contents,
  createDatabase: alertsDatabase,
  housekeep: (pool, signal) => createHousekeeping({ pool, log, metrics: createMetrics('alerts') }).run(signal),
});

describe('the method for the deletion of a workspace', () => {
  const alerts = perSuite(startAlerts);
  const deletion = perSuite(() =>
    createClient(WorkspaceDeletionService, { target: alerts.address, timeoutMs: 60_000 }),
  );

  test('refuses an empty workspace, which account emails have', async () => {
    await expect(deletion.deleteContents({ workspaceId: '' })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
