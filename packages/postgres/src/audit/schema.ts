import { fileURLToPath } from 'node:url';
import { dayPartitions, type Migration, type Queryable } from '../db/index.ts';

const appends = { entries: 'insert', throttles: 'select, insert, update' };

/** The audit schema. This package owns it; several services append to it. */
export const migrations: Migration = {
  schema: 'audit',
  directory: fileURLToPath(new URL('../../migrations/audit/', import.meta.url)),
  // Entries are append-only: no service may update or delete them.
  grants: {
    auth: { entries: 'select, insert', throttles: 'select, insert, update, delete' },
    webhooks: appends,
    alerts: appends,
    resources: appends,
  },
};

/**
 * Monthly partitions of the audit log. Services create them. Only the tables' owner can drop them, which
 * `rms migrate` does if AUDIT_LOG_DAYS is set. It has no agreed clock, so partitions expire by the earlier one of the
 * clocks of the database and of this machine.
 */
export const auditPartitions = dayPartitions('audit', {
  daysBack: 0,
  daysAhead: 92,
  expiryTime: () => `least(now(), to_timestamp(${Date.now() / 1000}))`,
});

/** Returns the audit log's size with its indexes in bytes. */
export async function auditLogBytes(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ bytes: string }>(
    `select coalesce(sum(pg_total_relation_size(inhrelid)), 0) as bytes from pg_inherits
      where inhparent = 'audit.entries'::regclass`,
  );
  return Number(rows[0]?.bytes ?? 0);
}
