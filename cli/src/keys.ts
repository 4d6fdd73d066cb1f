import type { FullKey, Key } from '@rms/api';
import { newKeyDocument } from '@rms/api/key/document';
import { isValidKey, scopeText } from '@rms/api/rules';
import type { Key as Message } from '@rms/proto/rms/auth/v1/key_pb';
import type { CreateKeyResponse } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { fields, print, table } from './print.ts';
import type { Services } from './services.ts';

/** Returns whether the key was rolled and is still accepted until its overlap ends. */
export function isInOverlap(key: Key): boolean {
  return key.status === 'rolled' && isValidKey(key);
}

/** Formats the status: "active", "rolled, works until 2026-01-02T03:04:05.678Z". */
export function statusText(key: Key): string {
  return isInOverlap(key) ? `rolled, works until ${earliest(key.overlap_ends_at ?? '', key.expires_at)}` : key.status;
}

/** Prints a new key. Its value is shown once. */
export function printNewKey(options: { json?: boolean }, created: Pick<CreateKeyResponse, 'key' | 'keyValue'>): void {
  const { key, keyValue } = created;
  const document = newKeyDocument(key, keyValue);
  print(options, document, () => `${keyValue}\n\n${document.id}; the value is shown only once`);
}

/** Returns a workspace's keys that match the filter, newest first. */
export async function allKeys(
  { keys }: Pick<Services, 'keys'>,
  workspaceId: string,
  filter: { readonly createdBy?: string; readonly validOnly?: boolean } = {},
): Promise<Message[]> {
  const all: Message[] = [];
  let pageToken = '';
  do {
    const page = await keys.listKeys({ ...filter, workspaceId, pageSize: 500, pageToken });
    all.push(...page.keys);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return all;
}

/** Formats the rate limit of a key: the number, or "plan" if the plan's limit applies. */
export function rateLimitText(requests: number | null): string {
  return requests ? String(requests) : 'plan';
}

export function allowlistText(cidrs: readonly string[]): string {
  return cidrs.join(',') || 'any';
}

/**
 * Formats a key's clients as a table. If `rolledAt` is set, a column shows which clients have used the old key
 * since then.
 */
export function clientsTable({ clients }: Pick<FullKey, 'clients'>, rolledAt: string | null = null): string {
  const headings = ['ADDRESS', 'LAST SEEN', 'REQUESTS', ...(rolledAt ? ['USED SINCE ROLL'] : []), 'USER AGENT'];
  return table(
    headings,
    clients.map(({ address, last_used_at: at, requests, user_agent: agent }) => [
      ...[address, at, String(requests), ...(rolledAt ? [at > rolledAt ? 'yes' : 'no'] : []), agent],
    ]),
  );
}

/** Formats all details of a key on several lines, preceded by the `about` fields. */
export function describeKey(key: FullKey, about: readonly (readonly [string, string])[] = []): string {
  const { last_refusal: refusal } = key;
  const lines = fields([
    ...about,
    ['id', key.id],
    ['environment', key.environment],
    ['name', key.name],
    ['scope', scopeText(key)],
    ['hint', key.hint],
    ['status', key.revoked_at ? `revoked ${key.revoked_at}` : statusText(key)],
    ['created', key.created_at],
    ['created by', creatorText(key)],
    ['expires', key.expires_at ?? 'never'],
    ['rolled', key.rolled_at ?? 'no'],
    ['overlap ends', key.overlap_ends_at ?? 'not rolled'],
    ['rolled to', key.rolled_to ?? 'none'],
    ['allowed from', allowlistText(key.allowed_ips)],
    ['rate limit', rateLimitText(key.rate_limit)],
    ['last used', key.last_used_at ? `${key.last_used_at} from ${key.last_used_ip}` : 'no recorded use'],
    ['last refused', refusal ? `${refusal.refused_at} (${refusal.error_code})` : 'no refused request'],
  ]);
  return key.clients.length === 0 ? lines : `${lines}\n\n${clientsTable(key)}`;
}

/** Returns the creator's name; the ID if it is unknown or deleted. */
export function creatorText({ created_by, created_by_name }: Key): string {
  return created_by_name ?? created_by ?? 'unknown';
}

function earliest(first: string, second: string | null): string {
  return second && second < first ? second : first;
}
