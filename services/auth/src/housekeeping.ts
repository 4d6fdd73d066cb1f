import { auditLogBytes, auditPartitions, auditThrottles } from '@rms/postgres/audit';
import type { Pool } from '@rms/postgres/db';
import { createDatabaseHousekeeping } from '@rms/postgres/housekeeping';
import type { Logger } from '@rms/runtime/logging';
import { Gauge, type Metrics } from '@rms/runtime/metrics';
import type { Housekeeping } from '@rms/runtime/service';
import { contents } from './deletion/contents.ts';
import { trimEmails } from './email/email-queries.ts';
import { trimEmailChanges } from './email-change/email-change-queries.ts';
import { trimInvitations } from './invitation/invitation-queries.ts';
import { createUseTrim } from './key/trim-uses.ts';
import { trimResets } from './password/reset-queries.ts';
import { trimPortalSessions } from './portal-session/portal-session-queries.ts';
import { requestPartitions } from './request/request-log.ts';
import { trimRequestCounts } from './request/request-queries.ts';
import { trimNetworks } from './sign-in/network-queries.ts';
import { throttles } from './sign-in/throttle.ts';

const everyMs = 10 * 60_000;

/**
 * Creates the worker that deletes expired rows and late rows of deleted workspaces. It also creates and drops the daily
 * partitions of the request log, and creates the monthly partitions of the audit log.
 */
export function createHousekeeping(parts: {
  pool: Pool;
  log: Logger;
  requestLogDays: number;
  metrics: Metrics;
}): Housekeeping {
  const { pool, log, requestLogDays, metrics } = parts;
  const auditBytes = new Gauge({
    name: 'rms_audit_log_bytes',
    help: 'Size of the audit log with its indexes.',
    registers: [metrics],
  });
  return createDatabaseHousekeeping({
    pool,
    contents,
    log,
    metrics,
    everyMs,
    tasks: {
      make_partitions: () => requestPartitions.make(pool),
      audit_partitions: () => auditPartitions.make(pool),
      audit_throttles: (signal) => auditThrottles.trim(pool, signal),
      audit_size: async () => auditBytes.set(await auditLogBytes(pool)),
      async drop_partitions() {
        const dropped = await requestPartitions.drop(pool, requestLogDays);
        if (dropped > 0)
          log.info({ dropped, retention_days: requestLogDays }, 'dropped expired partitions of the request log');
      },
      request_counts: (signal) => trimRequestCounts(pool, requestLogDays, signal),
      key_uses: createUseTrim(pool),
      throttles: (signal) => throttles.trim(pool, signal),
      networks: (signal) => trimNetworks(pool, signal),
      password_resets: (signal) => trimResets(pool, signal),
      email_changes: (signal) => trimEmailChanges(pool, signal),
      invitations: (signal) => trimInvitations(pool, signal),
      portal_sessions: (signal) => trimPortalSessions(pool, signal),
      emails: (signal) => trimEmails(pool, signal),
    },
  });
}
