import type { Pool } from '@rms/postgres/db';
import { createDatabaseHousekeeping } from '@rms/postgres/housekeeping';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import type { Housekeeping } from '@rms/runtime/service';
import { contents } from './deletion/contents.ts';
import { forgetEmails } from './email/email-queries.ts';
import { forgetIncidents } from './incident/incident-queries.ts';
import { forgetSequences } from './notices/notice-queries.ts';
import { confirmationLifeSeconds } from './recipient/confirmation-token.ts';
import { throttles } from './recipient/email-limits.ts';
import { forgetUnconfirmed } from './recipient/recipient-queries.ts';
import { forgetCounts, forgetReporters, forgetRuns } from './usage/old-usage-queries.ts';

const everyMs = 10 * 60_000;

/** Creates the worker that deletes expired rows, and late rows of deleted workspaces. */
export function createHousekeeping(parts: { pool: Pool; log: Logger; metrics: Metrics }): Housekeeping {
  const { pool } = parts;
  return createDatabaseHousekeeping({
    ...parts,
    contents,
    everyMs,
    tasks: {
      counts: (signal) => forgetCounts(pool, signal),
      runs: (signal) => forgetRuns(pool, signal),
      reporters: (signal) => forgetReporters(pool, signal),
      emails: (signal) => forgetEmails(pool, 'alerts.emails', signal),
      channel_messages: (signal) => forgetEmails(pool, 'alerts.channel_messages', signal),
      incidents: (signal) => forgetIncidents(pool, signal),
      recipients: (signal) => forgetUnconfirmed(pool, confirmationLifeSeconds, signal),
      throttles: (signal) => throttles.trim(pool, signal),
      notices: (signal) => forgetSequences(pool, signal),
    },
  });
}
