import type { RpcContext } from '@rms/rpc';

/** What has been changed, as the service that changes it says. */
export interface AuditChange {
  /** Empty: it concerns the installation. */
  readonly workspaceId: string;
  /** Unset: it concerns both. */
  readonly environment?: 'live' | 'sandbox' | undefined;
  /** The noun and what happened to it: "key.created". */
  readonly action: string;
  /** An id, or the name of what has none. */
  readonly targetId: string;
  /** What it was changed to; no secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Who changes something, for which request. */
export type AuditOrigin = Pick<RpcContext, 'actor' | 'clientAddress' | 'requestId' | 'principal'>;

/** An entry of the log. */
export interface AuditEntry extends Required<Omit<AuditChange, 'environment'>> {
  /** "aud_…"; sorts by time. */
  readonly id: string;
  readonly createdAt: Date;
  readonly environment: 'live' | 'sandbox' | undefined;
  readonly actor: string;
  readonly address: string;
  readonly requestId: string;
}

/** "operator:alice@laptop" for a person, "key:key_…" for a client of the API, "system" for what a service does by itself. */
export function actorOf({ actor, principal }: Pick<AuditOrigin, 'actor' | 'principal'>): string {
  if (actor !== '') return actor;
  return principal ? `key:${principal.keyId}` : 'system';
}
