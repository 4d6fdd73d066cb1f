import { RmsError } from '@rms/errors';
import type { OutboxEvent } from '@rms/outbox';
import type { CountChange } from '../counts/count-queries.ts';
import { type Cause, makeEvent } from './event.ts';
import { applyUpdate, type Resource, type ResourceUpdate } from './resource.ts';
import { type ResourceRef, refKey } from './resource-queries.ts';

/** What one caller wants done to one resource. */
export interface Change {
  readonly ref: ResourceRef;
  readonly cause: Cause;
  readonly action: { readonly kind: 'update'; readonly update: ResourceUpdate } | { readonly kind: 'delete' };
}

/** The outcome of a batch of changes: an answer for each, and what the transaction has to write. */
export interface Outcome {
  /** In the order of the changes: the resource after the update, or as it was deleted; or the error. */
  readonly answers: readonly (Resource | RmsError)[];
  readonly updated: readonly Resource[];
  readonly deleted: readonly Resource[];
  readonly counts: readonly CountChange[];
  readonly events: readonly OutboxEvent[];
}

/**
 * Applies changes one after the other to resources as they stand: several changes of one resource in one batch each see
 * the one before, and each has its own events (specification, "States and transitions").
 */
export function applyChanges(resources: readonly Resource[], changes: readonly Change[], partitions: number): Outcome {
  const states = new Map(resources.map((resource) => [refKey(resource), resource]));
  const before = new Map(states);
  const deleted: Resource[] = [];
  const counts: CountChange[] = [];
  const events: OutboxEvent[] = [];

  const answers = changes.map(({ ref, cause, action }) => {
    const key = refKey(ref);
    const current = states.get(key);
    if (!current) return new RmsError('not_found', { message: `There is no resource "${ref.id}".` });
    if (action.kind === 'delete') {
      const last = { ...current, sequence: current.sequence + 1 };
      states.delete(key);
      deleted.push(last);
      counts.push({ ...current, change: -1 });
      events.push(makeEvent('resource.deleted', last, cause, partitions));
      return last;
    }
    const { resource, previous } = applyUpdate(current, action.update, new Date());
    if (resource === current) return current;
    const updated = { ...resource, sequence: current.sequence + 1 };
    events.push(makeEvent('resource.updated', updated, cause, partitions, previous));
    let last = updated;
    if (previous.status !== undefined) {
      last = { ...updated, sequence: updated.sequence + 1 };
      const { status } = previous;
      events.push(makeEvent('resource.status_changed', last, cause, partitions, { status }));
      counts.push({ ...current, change: -1 }, { ...last, change: 1 });
    }
    states.set(key, last);
    return last;
  });

  const updated = [...states].filter(([key, resource]) => before.get(key) !== resource).map(([, resource]) => resource);
  return { answers, updated, deleted, counts, events };
}
