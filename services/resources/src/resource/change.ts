import { isExpected, RmsError } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { type AuditedChange, auditOf, type Cause, type EventParts, makeEvent, type OutboxEvent } from './record.ts';
import {
  applyUpdate,
  nextUpdateTime,
  type Resource,
  type ResourceRef,
  type ResourceStatus,
  type ResourceUpdate,
  refKey,
} from './resource.ts';

/** An update or deletion of a resource, requested by a caller. */
export interface Change {
  readonly ref: ResourceRef;
  readonly cause: Cause;
  /** Versions (`sequence`), the resource must have one of them. Empty: any. */
  readonly expectedVersions: readonly bigint[];
  readonly action: { readonly kind: 'update'; readonly update: ResourceUpdate } | { readonly kind: 'delete' };
}

/** A change to one of the totals. */
export interface CountChange extends Tenant {
  readonly status: ResourceStatus;
  readonly change: number;
}

/** Outcome of a change batch: the result of each change, and the rows that the transaction must write. */
export interface Outcome {
  /** In the changes' order: the updated resource, the last state of the deleted resource, or the error. */
  readonly responses: readonly (Resource | RmsError)[];
  readonly updated: readonly Resource[];
  readonly deleted: readonly Resource[];
  readonly counts: readonly CountChange[];
  readonly events: readonly OutboxEvent[];
  readonly audits: readonly AuditedChange[];
}

/** Shared inputs of all changes. `nowMs` returns the database time in milliseconds since the Unix epoch. */
export interface ChangeParts extends EventParts {
  readonly nowMs: () => number;
  /** Whether audit entries leave out the name and the metadata of resources. */
  readonly eraseOnDelete: boolean;
}

/**
 * Applies `changes` in order. If a batch changes a resource more than once, each change sees the previous one's
 * result and emits its own events.
 */
export function applyChanges(resources: readonly Resource[], changes: readonly Change[], parts: ChangeParts): Outcome {
  const states = new Map(resources.map((resource) => [refKey(resource), resource]));
  const before = new Map(states);
  const deleted: Resource[] = [];
  const counts: CountChange[] = [];
  const events: OutboxEvent[] = [];
  const audits: AuditedChange[] = [];

  const responses = changes.map(({ ref, cause, expectedVersions, action }) => {
    const key = refKey(ref);
    const current = states.get(key);
    if (!current) return new RmsError('not_found', { message: `There is no resource "${ref.id}".` });
    if (!isExpected(current.sequence, expectedVersions)) return new RmsError('precondition_failed');
    const now = new Date(parts.nowMs());
    if (action.kind === 'delete') {
      const last = { ...current, updatedAt: nextUpdateTime(current, now), sequence: current.sequence + 1 };
      states.delete(key);
      deleted.push(last);
      counts.push({ ...current, change: -1 });
      events.push(makeEvent('resource.deleted', last, cause, parts));
      audits.push(...auditOf(cause, { before: current }, parts));
      return last;
    }
    const { resource, previous } = applyUpdate(current, action.update, now);
    if (resource === current) return current;
    const updated = { ...resource, sequence: current.sequence + 1 };
    events.push(makeEvent('resource.updated', updated, cause, parts, previous));
    audits.push(...auditOf(cause, { before: current, after: updated }, parts));
    let last = updated;
    if (previous.status !== undefined) {
      last = { ...updated, sequence: updated.sequence + 1 };
      const { status } = previous;
      events.push(makeEvent('resource.status_changed', last, cause, parts, { status }));
      counts.push({ ...current, change: -1 }, { ...last, change: 1 });
    }
    states.set(key, last);
    return last;
  });

  const updated = [...states].filter(([key, resource]) => before.get(key) !== resource).map(([, resource]) => resource);
  return { responses, updated, deleted, counts, events, audits };
}
