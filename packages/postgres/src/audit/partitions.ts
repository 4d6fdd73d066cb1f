import { dayPartitions, type Queryable } from '../db/index.ts';

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
