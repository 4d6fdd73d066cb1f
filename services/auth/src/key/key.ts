import { isIP } from 'node:net';
import { generateApiKey, hashOfApiKey, hintOfApiKey, type KeyEnvironment } from '@rms/api-key';
import { type FieldViolation, RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import ipaddr from 'ipaddr.js';
import { nameViolations } from '../name.ts';
import { limitViolations } from '../plan/plan.ts';

export type KeyScope = 'read' | 'write' | 'admin';

/** A key as it is stored. */
export interface StoredKey {
  readonly workspaceId: string;
  readonly environment: KeyEnvironment;
  readonly id: string;
  readonly hash: Buffer;
  readonly hint: string;
  readonly name: string;
  readonly scope: KeyScope;
  /** CIDRs in normal form; empty: any address. */
  readonly allowedIps: readonly string[];
  readonly createdAt: Date;
  readonly expiresAt: Date | undefined;
  readonly revokedAt: Date | undefined;
  /** From then on api_key_expired. */
  readonly rolledAt: Date | undefined;
  readonly replacedById: string | undefined;
  /** "key:key_…", "operator:alice@laptop", "system"; empty: unknown. */
  readonly createdBy: string;
  /** Counts changes. */
  readonly version: number;
  /** Requests it may make in a window; 0: no limit; undefined: as the workspace's plan says. */
  readonly rateLimitRequests: number | undefined;
}

/** What an operator chooses of a key. */
export interface KeyInput {
  readonly name: string;
  readonly allowedIps: readonly string[];
  readonly expiresAt: Date | undefined;
  readonly rateLimitRequests: number | undefined;
}

export type KeyVerdict = 'valid' | 'invalid' | 'expired';

const allowedIpsLimit = 100;
/** The last moment that a google.protobuf.Timestamp can tell. */
const latestExpiry = new Date('9999-12-31T23:59:59.999Z');

/** A new key with its value, which is not kept. */
export function makeKey(input: KeyInput & Pick<StoredKey, 'workspaceId' | 'environment' | 'scope' | 'createdBy'>): {
  key: StoredKey;
  value: string;
} {
  const value = generateApiKey(input.environment);
  const { workspaceId, environment, scope, name, allowedIps, expiresAt, rateLimitRequests, createdBy } = input;
  const key: StoredKey = {
    workspaceId,
    environment,
    id: newId('key'),
    hash: hashOfApiKey(value),
    hint: hintOfApiKey(value),
    name,
    scope,
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
 * What a key sent to a listener is worth now. Revoked wins over expired: a revoked key answers invalid_api_key whatever
 * else is true of it (specification, "Authentication" 6 and "Errors").
 */
export function judgeKey(key: StoredKey, environment: KeyEnvironment, now: Date): KeyVerdict {
  if (key.environment !== environment || key.revokedAt) return 'invalid';
  const end = endOfKey(key);
  return end && end <= now ? 'expired' : 'valid';
}

/** When a key stops by itself: its expiry date or the end of a roll's overlap, whichever is first. */
export function endOfKey({ expiresAt, rolledAt }: StoredKey): Date | undefined {
  if (expiresAt && rolledAt) return expiresAt < rolledAt ? expiresAt : rolledAt;
  return expiresAt ?? rolledAt;
}

/** Checks what an operator asks for; throws one `invalid_request` that names every wrong field. */
export function checkKeyInput(input: KeyInput, now: Date): KeyInput {
  const details: FieldViolation[] = nameViolations(input.name);
  // Neither is true of a date that JavaScript cannot hold.
  if (input.expiresAt && !(input.expiresAt > now && input.expiresAt <= latestExpiry)) {
    details.push({ field: 'expires_at', message: 'must be in the future, and before the year 10000' });
  }
  if (input.allowedIps.length > allowedIpsLimit) {
    details.push({ field: 'allowed_ips', message: `must have at most ${allowedIpsLimit} entries` });
  }
  const allowedIps = input.allowedIps.map((text, i) => {
    const cidr = normalizeCidr(text);
    if (!cidr) details.push({ field: `allowed_ips[${i}]`, message: `"${text}" is neither an address nor a CIDR` });
    return cidr ?? text;
  });
  details.push(...limitViolations('rate_limit_requests', input.rateLimitRequests));
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { ...input, allowedIps: [...new Set(allowedIps)] };
}

/** "10.1.2.3/8" → "10.0.0.0/8", "::ffff:192.0.2.1" → "192.0.2.1/32"; undefined if it is no address or CIDR. */
export function normalizeCidr(text: string): string | undefined {
  const [address = '', bits, ...more] = text.split('/');
  // Node's reading is strict: short and octal spellings of IPv4 mean different things to different readers.
  if (more.length > 0 || isIP(address) === 0 || address.includes('%')) return;
  if (bits !== undefined && !/^(?:0|[1-9]\d{0,2})$/.test(bits)) return;
  let parsed = ipaddr.parse(address);
  let length = bits === undefined ? undefined : Number(bits);
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress()) {
    if (length !== undefined && length < 96) return;
    parsed = parsed.toIPv4Address();
    length = length === undefined ? undefined : length - 96;
  }
  const longest = parsed.kind() === 'ipv4' ? 32 : 128;
  length ??= longest;
  if (length > longest) return;
  const network =
    parsed.kind() === 'ipv4'
      ? ipaddr.IPv4.networkAddressFromCIDR(`${parsed}/${length}`)
      : ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/${length}`);
  return `${network}/${length}`;
}
