import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { enumNames } from '@rms/rpc';
import { timeOf } from './text.ts';

export const scopes = enumNames(Scope);
export type ScopeName = (typeof scopes.names)[number];

/** Each state ends the ones before it: "rolled" keys work until `rolled_at`, and are "ended" after it. */
export type KeyState = 'active' | 'rolled' | 'ended' | 'expired' | 'revoked';

/** A key without its value. */
export interface KeyDocument {
  readonly id: string;
  readonly name: string;
  readonly scope: ScopeName;
  readonly hint: string;
  readonly state: KeyState;
  readonly created_at: string | null;
  readonly created_by: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** From then on it answers api_key_expired. */
  readonly rolled_at: string | null;
  readonly replaced_by: string | null;
  readonly allowed_ips: readonly string[];
  /** Requests in a window; null: as the plan says; 0: no limit. */
  readonly rate_limit_requests: number | null;
  /** Who has used it of late, the latest first. */
  readonly uses: readonly KeyUseDocument[];
}

export interface KeyUseDocument {
  readonly last_used_at: string | null;
  readonly address: string;
  readonly user_agent: string;
  readonly requests: number;
}

/** The one answer that has the value. */
export interface NewKeyDocument {
  readonly key: KeyDocument;
  readonly value: string;
}

export function keyDocument(key: Key, nowMs = Date.now()): KeyDocument {
  const document = {
    id: key.id,
    name: key.name,
    scope: scopes.toName(key.scope) ?? 'read',
    hint: key.hint,
    created_at: timeOf(key.createTime),
    created_by: key.createdBy || null,
    expires_at: timeOf(key.expireTime),
    revoked_at: timeOf(key.revokeTime),
    rolled_at: timeOf(key.rollTime),
    replaced_by: key.replacedById || null,
    allowed_ips: key.allowedIps,
    rate_limit_requests: key.rateLimitRequests === undefined ? null : Number(key.rateLimitRequests),
    uses: key.uses.map((use) => ({
      last_used_at: timeOf(use.lastUseTime),
      address: use.address,
      user_agent: use.userAgent,
      requests: Number(use.requests),
    })),
  };
  return { ...document, state: stateOf(document, nowMs) };
}

function stateOf(key: Pick<KeyDocument, 'revoked_at' | 'rolled_at' | 'expires_at'>, nowMs: number): KeyState {
  const isPast = (time: string | null) => time !== null && Date.parse(time) <= nowMs;
  if (key.revoked_at !== null) return 'revoked';
  if (isPast(key.rolled_at)) return 'ended';
  if (isPast(key.expires_at)) return 'expired';
  return key.rolled_at === null ? 'active' : 'rolled';
}
