import type { FieldChange } from '@rms/base/audit-change';
import type { Environment } from '@rms/base/tenant';
import type { RpcContext } from '@rms/rpc';
import type { AuditedAction } from './audit-action.ts';

/** The object of an action. */
export interface AuditTarget {
  /** ID of the object, or its name if it has no ID. Empty: unknown. */
  readonly id: string;
  /** Name when the action happened. Empty: the object has none. */
  readonly name: string;
}

/** An action to record in the audit log. */
export type NewAuditEntry = AuditedAction & {
  /** Empty for an action that concerns the whole installation. */
  readonly workspaceId: string;
  /** Unset for an action that concerns both environments. */
  readonly environment?: Environment | undefined;
  readonly target: AuditTarget;
};

/** The caller and the request that caused an action. */
export type AuditOrigin = Pick<RpcContext, 'actor' | 'actorName' | 'clientAddress' | 'requestId' | 'principal'>;

/** An entry of the audit log. */
export interface AuditEntry {
  /** "aud_…"; sorts by time. */
  readonly id: string;
  readonly createdAt: Date;
  readonly workspaceId: string;
  readonly environment: Environment | undefined;
  readonly actor: string;
  /** Email address of a user or name of a key, when the action happened. Empty: unknown, or the actor is a name. */
  readonly actorName: string;
  readonly address: string;
  readonly requestId: string;
  /** Noun and past participle: "key.created". */
  readonly action: string;
  readonly targetId: string;
  readonly targetName: string;
  /** Empty in entries of earlier releases. */
  readonly changes: readonly FieldChange[];
  readonly details: Readonly<Record<string, unknown>>;
}

/**
 * Returns the call's actor ("user:usr_…", "operator:alice@laptop"), "key:key_…" for an API client, or "system" for
 * a service's own actions.
 */
export function actorOf({ actor, principal }: Pick<AuditOrigin, 'actor' | 'principal'>): string {
  if (actor !== '') return actor;
  return principal ? `key:${principal.keyId}` : 'system';
}
