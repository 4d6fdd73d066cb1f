import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { enumNames } from '@rms/rpc';
import { timeOf } from './text.ts';

export const scopes = enumNames(Scope);
export type ScopeName = (typeof scopes.names)[number];

/** A "rolled" key works until `ends_at` and is "ended" afterwards. */
export type KeyState = 'active' | 'rolled' | 'ended' | 'expired' | 'revoked';

/** Key without its value. */
export interface KeyDocument {
  readonly id: string;
  readonly name: string;
  readonly scope: ScopeName | 'restricted';
  readonly hint: string;
  readonly state: KeyState;
  readonly created_at: string | null;
  readonly created_by: string | null;
  /** Name of the creator: email address, name of a key, or operator. null: unknown, or a deleted user. */
  readonly created_by_name: string | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  /** When the API begins to reject a rolled key with api_key_expired. null: the key was not rolled. */
  readonly ends_at: string | null;
  readonly replaced_by: string | null;
  readonly allowed_ips: readonly string[];
  /** Requests per window. null: the plan's limit. 0: no limit. */
  readonly rate_limit_requests: number | null;
  /** The most recent request that was refused because of the key. null: none is recorded. */
  readonly last_refusal: { readonly at: string | null; readonly code: string } | null;
  /** Recent clients of the key, most recent first. */
  readonly uses: readonly KeyUseDocument[];
}

export interface KeyUseDocument {
  readonly last_used_at: string | null;
  readonly address: string;
  readonly user_agent: string;
  readonly requests: number;
}

/** Response with a new key's value. No other response contains it. */
export interface NewKeyDocument {
  readonly key: KeyDocument;
  readonly value: string;
}

export function keyDocument(key: Key, nowMs = Date.now()): KeyDocument {
  const document = {
    id: key.id,
    name: key.name,
    scope: scopes.toName(key.scope) ?? ('restricted' as const),
    hint: key.hint,
    created_at: timeOf(key.createTime),
    created_by: key.createdBy || null,
    created_by_name: key.creatorName || null,
    expires_at: timeOf(key.expireTime),
    revoked_at: timeOf(key.revokeTime),
    ends_at: timeOf(key.rollTime),
    replaced_by: key.replacedById || null,
    allowed_ips: key.allowedIps,
    rate_limit_requests: key.rateLimitRequests === undefined ? null : Number(key.rateLimitRequests),
    last_refusal: key.lastRefusal ? { at: timeOf(key.lastRefusal.refuseTime), code: key.lastRefusal.errorCode } : null,
    uses: key.uses.map((use) => ({
      last_used_at: timeOf(use.lastUseTime),
      address: use.address,
      user_agent: use.userAgent,
      requests: Number(use.requests),
    })),
  };
  return { ...document, state: stateOf(document, nowMs) };
}

function stateOf(key: Pick<KeyDocument, 'revoked_at' | 'ends_at' | 'expires_at'>, nowMs: number): KeyState {
  const isPast = (time: string | null) => time !== null && Date.parse(time) <= nowMs;
  if (key.revoked_at !== null) return 'revoked';
  if (isPast(key.ends_at)) return 'ended';
  if (isPast(key.expires_at)) return 'expired';
  return key.ends_at === null ? 'active' : 'rolled';
}
