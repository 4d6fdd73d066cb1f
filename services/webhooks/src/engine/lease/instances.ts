import { randomUUID } from 'node:crypto';
import type { Queryable } from '@rms/postgres/db';
import type { Part } from '../schedule/limits.ts';

export type Instances = ReturnType<typeof createInstances>;

/** Time between heartbeats. */
export const beatMs = 3_000;
/**
 * An instance that has missed three heartbeats counts as stopped. A heartbeat in the future was written before the clock
 * of the database was set back; the next heartbeat of a running instance replaces it.
 */
const isRunning = "seen_at between now() - interval '10 seconds' and now() + interval '10 seconds'";

/** Creates the running instances of this service. They find each other through the database and use its clock. */
export function createInstances(db: Queryable) {
  const id = randomUUID();
  let part: Part = { rank: 0, count: 1 };
  return {
    /** Returns the part of this instance, as of the last heartbeat. */
    part: () => part,
    /** Writes the heartbeat of this instance, and reads the running instances. */
    async beat() {
      const { rows } = await db.query<{ id: string }>({
        name: 'instances-beat',
        text: `
          with own as (
            insert into webhooks.instances (id, seen_at) values ($1, now())
                on conflict (id) do update set seen_at = excluded.seen_at
            returning id
          ), stopped as (
            delete from webhooks.instances where not (${isRunning}) and id <> $1
          )
          select id from own
           union
          select id from webhooks.instances where ${isRunning}
           order by id`,
        values: [id],
      });
      part = { rank: rows.findIndex((row) => row.id === id), count: rows.length };
    },
    /** Removes this instance, which has stopped. */
    async leave() {
      await db.query('delete from webhooks.instances where id = $1', [id]);
    },
  };
}
