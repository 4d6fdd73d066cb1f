import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { keyDocument, time } from './documents.ts';
import { fields, table } from './print.ts';

export type UsedKeyDocument = ReturnType<typeof usedKeyDocument>;

/** A key with the clients that have used it, the latest first. */
export function usedKeyDocument(key: Key) {
  const [latest] = key.uses;
  return {
    ...keyDocument(key),
    last_used_at: time(latest?.lastUseTime),
    last_used_from: latest?.address ?? null,
    uses: key.uses.map(({ address, userAgent, lastUseTime, requests }) => ({
      address,
      user_agent: userAgent,
      last_used_at: time(lastUseTime),
      requests: Number(requests),
    })),
  };
}

type Ends = Pick<UsedKeyDocument, 'revoked_at' | 'rolled_at' | 'expires_at'>;

/** Whether the key still lets anybody in. */
export function isValid({ revoked_at, rolled_at, expires_at }: Ends): boolean {
  return !revoked_at && !isPast(rolled_at) && !isPast(expires_at);
}

/** A key that was rolled, and works on for the rest of the overlap. */
export function isInOverlap(key: Ends): boolean {
  return isValid(key) && Boolean(key.rolled_at);
}

/** The state of a key in words. Revoked goes before all else, as in what the API answers. */
export function stateOf(key: Ends): string {
  if (key.revoked_at) return 'revoked';
  if (isPast(key.rolled_at)) return 'rolled';
  if (isPast(key.expires_at)) return 'expired';
  return key.rolled_at ? `rolled, works until ${earliest(key.rolled_at, key.expires_at)}` : 'active';
}

/** "none", "as the plan says", or the number. */
export function rateLimitText(requests: number | null | undefined): string {
  if (requests === 0) return 'none';
  return requests ? String(requests) : 'plan';
}

export function allowlistText(cidrs: readonly string[]): string {
  return cidrs.join(',') || 'any';
}

/** The clients of a key. Since `rolledAt`, the time at which it was rolled, they ought to use the key that took its place. */
export function usesTable({ uses }: UsedKeyDocument, rolledAt?: string | null): string {
  const since = (at: string | null) => (rolledAt && at && at > rolledAt ? 'yes' : 'no');
  const headings = ['ADDRESS', 'LAST SEEN', 'REQUESTS', ...(rolledAt ? ['SINCE THE ROLL'] : []), 'USER AGENT'];
  return table(
    headings,
    uses.map(({ address, last_used_at: at, requests, user_agent: agent }) => [
      address,
      at ?? '',
      String(requests),
      ...(rolledAt ? [since(at)] : []),
      agent,
    ]),
  );
}

/** All that is known of a key, and of its workspace if that is of interest, over several lines. */
export function describeKey(key: UsedKeyDocument, about: readonly (readonly [string, string])[] = []): string {
  const lines = fields([
    ...about,
    ['id', key.id],
    ['environment', key.environment],
    ['name', key.name],
    ['scope', key.scope],
    ['hint', key.hint ?? ''],
    ['state', key.revoked_at ? `revoked ${key.revoked_at}` : stateOf(key)],
    ['created', key.created_at ?? ''],
    ['created by', key.created_by ?? 'unknown'],
    ['expires', key.expires_at ?? 'never'],
    ['rolled, ends', key.rolled_at ?? 'no'],
    ['replaced by', key.replaced_by ?? 'none'],
    ['allowed from', allowlistText(key.allowed_ips)],
    ['rate limit', rateLimitText(key.rate_limit_requests)],
    ['last used', key.last_used_at ? `${key.last_used_at} from ${key.last_used_from}` : 'never, as far as is known'],
  ]);
  return key.uses.length === 0 ? lines : `${lines}\n\n${usesTable(key)}`;
}

function isPast(time: string | null | undefined): boolean {
  return Boolean(time) && Date.parse(time ?? '') <= Date.now();
}

function earliest(first: string, second: string | null): string {
  return second && second < first ? second : first;
}
