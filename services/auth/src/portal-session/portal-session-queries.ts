import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import type { StoredKey } from '../key/key.ts';
import { isValid, type KeyRow, columns as keyColumns, toKey } from '../key/key-queries.ts';
import type { PortalSession, PortalTheme } from './portal-session.ts';

interface SessionRow {
  session_id: string;
  token_hash: Buffer;
  ends_at: Date;
  return_url: string;
  theme: PortalTheme;
}

/** A session with its key, which is valid. */
export interface KeyedSession {
  readonly session: PortalSession;
  readonly key: StoredKey;
}

export async function insertPortalSession(tx: Queryable, session: PortalSession): Promise<void> {
  await tx.query(
    `insert into auth.portal_sessions (workspace_id, environment, id, key_id, token_hash, ends_at, return_url, theme)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      session.workspaceId,
      session.environment,
      session.id,
      session.keyId,
      session.tokenHash,
      session.endsAt,
      session.returnUrl,
      session.theme,
    ],
  );
}

/** Replaces the link's token by the session's token. Of concurrent calls with the same link, one succeeds. */
export async function openByLink(
  tx: Queryable,
  linkHash: Buffer,
  tokenHash: Buffer,
): Promise<KeyedSession | undefined> {
  const { rows } = await tx.query<SessionRow & KeyRow>(
    `with opened as (
       update auth.portal_sessions set token_hash = $2, opened_at = now()
        where token_hash = $1 and opened_at is null and ends_at > now() and exists (
                select from auth.keys
                 where keys.workspace_id = portal_sessions.workspace_id
                   and keys.environment = portal_sessions.environment and keys.id = key_id and ${isValid}
              )
       returning *
     )
     ${withKey('opened')}`,
    [linkHash, tokenHash],
  );
  return rows[0] && toKeyedSession(rows[0]);
}

/** Returns the opened session with this token. Undefined if it or its key is no longer valid. */
export async function findByToken(db: Queryable, tokenHash: Buffer): Promise<KeyedSession | undefined> {
  const { rows } = await db.query<SessionRow & KeyRow>({
    name: 'portal-session-by-token',
    text: `${withKey('auth.portal_sessions')} where token_hash = $1 and opened_at is not null and ends_at > now()`,
    values: [tokenHash],
  });
  return rows[0] && toKeyedSession(rows[0]);
}

function withKey(sessions: string): string {
  return `
     select key.*, session.id as session_id, token_hash, ends_at, return_url, theme
       from ${sessions} as session
       join lateral (
              select ${keyColumns} from auth.keys
               where workspace_id = session.workspace_id and environment = session.environment and id = key_id
                 and ${isValid}
            ) as key on true`;
}

/** Returns the number of sessions of a workspace that have not ended, counted up to `most`. */
export async function countPortalSessions(tx: Queryable, workspaceId: string, most: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count
       from (select from auth.portal_sessions where workspace_id = $1 and ends_at > now() limit $2) as sessions`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}

export function trimPortalSessions(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'auth.portal_sessions', { where: 'ends_at <= auth.agreed_now()' }, signal);
}

function toKeyedSession(row: SessionRow & KeyRow): KeyedSession {
  const { session_id: id, token_hash: tokenHash, ends_at: endsAt, return_url: returnUrl, theme } = row;
  const key = toKey(row);
  const { workspaceId, environment } = key;
  return { session: { workspaceId, environment, id, keyId: key.id, tokenHash, endsAt, returnUrl, theme }, key };
}
