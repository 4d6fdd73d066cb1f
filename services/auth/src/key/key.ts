import { generateApiKey, hashOfApiKey, hintOfApiKey } from '@rms/base/api-key';
import { normalizeCidr } from '@rms/base/cidr';
import { type FieldViolation, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import type { KeyGrant } from '@rms/base/roles';
import type { Environment, Tenant } from '@rms/base/tenant';
import { nameViolations } from '../name.ts';
import { limitViolations } from '../plan/plan.ts';

/** An API key as stored. */
export interface StoredKey extends Tenant, KeyGrant {
  readonly id: string;
  readonly hash: Buffer;
  readonly hint: string;
  readonly name: string;
  /** Normalized CIDRs. If empty, all addresses are allowed. */
  readonly allowedIps: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  /** End of a roll's overlap. From this time on the key is rejected with `api_key_expired`. */
  readonly rolledAt: Date | undefined;
  readonly replacedById: string | undefined;
  /** For example "key:key_…", "operator:alice@laptop" or "system". Empty if unknown. */
  readonly createdBy: string;
  /** Incremented by every change. */
  readonly version: number;
  /** Requests per window, at least 1. It can only lower the plan's limit. undefined: only the plan's limit applies. */
  readonly rateLimitRequests: number | undefined;
}

/** Properties of a key that its creator chooses. */
export interface KeyInput {
  readonly name: string;
  readonly allowedIps: readonly string[];
  readonly expiresAt: Date | undefined;
  readonly rateLimitRequests: number | undefined;
}

/** Result of looking up a key. Revoked keys are invalid; rolled keys are expired after their overlap. */
export type KeyVerdict = 'valid' | 'invalid' | 'expired';

const allowedIpsLimit = 100;
/** The latest time that a google.protobuf.Timestamp can represent. */
const latestExpiry = new Date('9999-12-31T23:59:59.999Z');

/** Creates a key and its value. Only the value's hash is stored. */
export function makeKey(input: KeyInput & KeyGrant & Pick<StoredKey, 'workspaceId' | 'environment' | 'createdBy'>): {
  key: StoredKey;
  value: string;
} {
  const value = generateApiKey(input.environment);
  const { workspaceId, environment, scope, permissions, name, allowedIps, expiresAt, rateLimitRequests, createdBy } =
    input;
  const key: StoredKey = {
    workspaceId,
    environment,
    id: newId('key'),
    hash: hashOfApiKey(value),
    hint: hintOfApiKey(value),
    name,
    scope,
    permissions,
    allowedIps,
    createdAt: new Date(),
    expiresAt,
    revokedAt: undefined,
    rolledAt: undefined,
    replacedById: undefined,
    createdBy,
    version: 1,
    rateLimitRequests,
  };
  return { key, value };
}

/**
 * Decides whether a key is valid for a listener's environment. A revoked key is always `invalid`, even if it has also
 * expired, so it is rejected with `invalid_api_key`.
 */
export function verdictFor(key: StoredKey, environment: Environment, now: Date): KeyVerdict {
  if (key.environment !== environment || key.revokedAt) return 'invalid';
  const end = endOfKey(key);
  return end && end <= now ? 'expired' : 'valid';
}

export type KeyStatus = 'active' | 'expired' | 'revoked' | 'rolled';

/** Returns when a key stops working: at its expiry date or when a roll's overlap ends, whichever comes first. */
export function endOfKey({ expiresAt, rolledAt }: StoredKey): Date | undefined {
  if (expiresAt && rolledAt) return expiresAt < rolledAt ? expiresAt : rolledAt;
  return expiresAt ?? rolledAt;
}

/** Validates and normalizes the input. Throws one `invalid_request` that identifies every invalid field. */
export function checkKeyInput(input: KeyInput, now: Date): KeyInput {
  const details: FieldViolation[] = nameViolations(input.name);
  // Both comparisons are false for an invalid Date.
  if (input.expiresAt && !(input.expiresAt > now && input.expiresAt <= latestExpiry)) {
    details.push({ field: 'expires_at', message: 'must be in the future and before the year 10000' });
  }
  if (input.allowedIps.length > allowedIpsLimit) {
    details.push({ field: 'allowed_ips', message: `must have at most ${allowedIpsLimit} entries` });
  }
  const allowedIps = input.allowedIps.map((text, i) => {
    const cidr = normalizeCidr(text);
    if (!cidr) details.push({ field: `allowed_ips.${i}`, message: `"${text}" is not an IP address or CIDR` });
    return cidr ?? text;
  });
  details.push(...limitViolations('rate_limit_requests', input.rateLimitRequests, 1));
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { ...input, allowedIps: [...new Set(allowedIps)] };
}
