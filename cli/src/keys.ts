import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { keyDocument, time } from './documents.ts';
import { fields, table } from './print.ts';
import type { Services } from './services.ts';

export type UsedKeyDocument = ReturnType<typeof usedKeyDocument>;

/** Returns a key with the clients that have used it, most recent first. */
export function usedKeyDocument(key: Key) {
  const [latest] = key.uses;
  return {
    ...keyDocument(key),
    last_used_at: time(latest?.lastUseTime),
    last_used_from: latest?.address ?? null,
    last_refused_at: time(key.lastRefusal?.refuseTime),
    last_refused_code: key.lastRefusal?.errorCode ?? null,
    uses: key.uses.map(({ address, userAgent, lastUseTime, requests }) => ({
      address,
      user_agent: userAgent,
      last_used_at: time(lastUseTime),
      requests: Number(requests),
    })),
  };
}

type Ends = Pick<UsedKeyDocument, 'revoked_at' | 'ends_at' | 'expires_at'>;

/** Returns whether the API accepts the key. */
export function isValid({ revoked_at, ends_at, expires_at }: Ends): boolean {
  return !revoked_at && !isPast(ends_at) && !isPast(expires_at);
}

/** Returns whether the key was rolled and is still accepted until its overlap ends. */
export function isInOverlap(key: Ends): boolean {
  return isValid(key) && Boolean(key.ends_at);
}

/** Returns a key's state as text. `revoked` takes precedence over the other states, as in API errors. */
export function stateOf(key: Ends): string {
  if (key.revoked_at) return 'revoked';
  if (isPast(key.ends_at)) return 'rolled';
  if (isPast(key.expires_at)) return 'expired';
  return key.ends_at ? `rolled, works until ${earliest(key.ends_at, key.expires_at)}` : 'active';
}

/** Returns a workspace's keys that match the filter, newest first. */
export async function allKeys(
  { keys }: Pick<Services, 'keys'>,
  workspaceId: string,
  filter: { readonly createdBy?: string; readonly validOnly?: boolean } = {},
): Promise<Key[]> {
  const all: Key[] = [];
  let pageToken = '';
  do {
    const page = await keys.listKeys({ ...filter, workspaceId, pageSize: 500, pageToken });
    all.push(...page.keys);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return all;
}

/** Formats the rate limit of a key: the number, or "plan" if the plan's limit applies. */
export function rateLimitText(requests: number | null | undefined): string {
  return requests ? String(requests) : 'plan';
}

export function allowlistText(cidrs: readonly string[]): string {
  return cidrs.join(',') || 'any';
}

/**
 * Formats a key's clients as a table. If `rolledAt` is set, a column shows which clients have used the old key
 * since then.
 */
export function usesTable({ uses }: UsedKeyDocument, rolledAt?: string | null): string {
  const since = (at: string | null) => (rolledAt && at && at > rolledAt ? 'yes' : 'no');
  const headings = ['ADDRESS', 'LAST SEEN', 'REQUESTS', ...(rolledAt ? ['USED SINCE ROLL'] : []), 'USER AGENT'];
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

/** Formats all details of a key on several lines, preceded by the `about` fields. */
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
    ['created by', creatorText(key)],
    ['expires', key.expires_at ?? 'never'],
    ['rolled', key.rolled_at ?? 'no'],
    ['ends', key.ends_at ?? 'not rolled'],
    ['replaced by', key.replaced_by ?? 'none'],
    ['allowed from', allowlistText(key.allowed_ips)],
    ['rate limit', rateLimitText(key.rate_limit_requests)],
    ['last used', key.last_used_at ? `${key.last_used_at} from ${key.last_used_from}` : 'no recorded use'],
    ['last refused', key.last_refused_at ? `${key.last_refused_at} (${key.last_refused_code})` : 'no refused request'],
  ]);
  return key.uses.length === 0 ? lines : `${lines}\n\n${usesTable(key)}`;
}

/** Returns the creator's name; its ID if it is unknown or deleted. */
export function creatorText({ created_by, created_by_name }: Pick<UsedKeyDocument, 'created_by' | 'created_by_name'>) {
  return created_by_name ?? created_by ?? 'unknown';
}

function isPast(time: string | null | undefined): boolean {
  return Boolean(time) && Date.parse(time ?? '') <= Date.now();
}

function earliest(first: string, second: string | null): string {
  return second && second < first ? second : first;
}
