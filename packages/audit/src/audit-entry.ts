import type { RpcContext } from '@rms/rpc';
import type { Environment } from '@rms/tenant';

/** A change to record in the audit log. */
export interface AuditChange {
  /** Empty for a change of the whole installation. */
  readonly workspaceId: string;
  /** Unset for a change that concerns both environments. */
  readonly environment?: Environment | undefined;
  /** Noun and past participle: "key.created". */
  readonly action: string;
  /** ID of the changed object, or its name if it has no ID. */
  readonly targetId: string;
  /** New values. Never contains a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The caller and the request that caused a change. */
export type AuditOrigin = Pick<RpcContext, 'actor' | 'clientAddress' | 'requestId' | 'principal'>;

/** An entry of the audit log. */
export interface AuditEntry extends Required<Omit<AuditChange, 'environment'>> {
  /** "aud_…"; sorts by time. */
  readonly id: string;
  readonly createdAt: Date;
  readonly environment: Environment | undefined;
  readonly actor: string;
  readonly address: string;
  readonly requestId: string;
}

/**
 * Returns the actor of the call ("user:usr_…", "operator:alice@laptop"), "key:key_…" for an API client, or "system" for
 * a service's own actions.
 */
export function actorOf({ actor, principal }: Pick<AuditOrigin, 'actor' | 'principal'>): string {
  if (actor !== '') return actor;
  return principal ? `key:${principal.keyId}` : 'system';
}
