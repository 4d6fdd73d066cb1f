import type { Queryable } from '@rms/db';
import { type DeliveryJob, leaseMs } from './job.ts';

/** Gives deliveries back unattempted; they are due at once, for whoever has room for them. */
export async function giveBack(db: Queryable, given: readonly DeliveryJob[]): Promise<void> {
  const jobs = [...given].sort((a, b) => (a.id < b.id ? -1 : 1));
  await db.query({
    name: 'deliveries-give-back',
    text: `
      update webhooks.deliveries as d set due_at = now()
        from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as job (workspace_id, environment, id, lease)
       where d.workspace_id = job.workspace_id and d.environment = job.environment and d.id = job.id
         and d.lease = job.lease`,
    values: [
      jobs.map(({ workspaceId }) => workspaceId),
      jobs.map(({ environment }) => environment),
      jobs.map(({ id }) => id),
      jobs.map(({ lease }) => lease),
    ],
  });
}

/** Ends the leases of first attempts at once. Right only for an instance that has no other beside it. */
export async function releaseLeases(db: Queryable): Promise<void> {
  await db.query(`
    update webhooks.deliveries set due_at = now()
     where due_at > now() and due_at <= now() + ${leaseMs} * interval '1 millisecond' and tries = 0`);
}
