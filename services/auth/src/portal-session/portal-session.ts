import { newId } from '@rms/base/ids';
import { type KeyGrant, type KeyPermission, keyMay, portalPermissions } from '@rms/base/roles';
import type { Tenant } from '@rms/base/tenant';

/** How the pages look. The API validates the values. */
export interface PortalTheme {
  readonly mode: string;
  readonly primaryColor: string;
  readonly logoUrl: string;
}

/** Access to the webhook pages of a workspace and environment, without an account. */
export interface PortalSession extends Tenant {
  readonly id: string;
  readonly keyId: string;
  /** Hash of the link's token; once opened, of the session's token. */
  readonly tokenHash: Buffer;
  readonly endsAt: Date;
  /** Empty: none. */
  readonly returnUrl: string;
  readonly theme: PortalTheme;
}

export const maxLifetimeSeconds = 86_400;
/** Sessions of a workspace that have not ended, opened or not. A session takes up to 10 KB, most of it the logo. */
export const maxSessions = 5_000;

/** Creates a session that lasts `lifetimeSeconds`. */
export function makePortalSession(
  input: Omit<PortalSession, 'id' | 'endsAt'>,
  lifetimeSeconds: number,
  now: Date,
): PortalSession {
  return { ...input, id: newId('pts'), endsAt: new Date(now.getTime() + lifetimeSeconds * 1_000) };
}

/** Returns a session's permissions: its key's portal permissions. */
export function sessionPermissions(key: KeyGrant): KeyPermission[] {
  return portalPermissions.filter((permission) => keyMay(key, permission));
}
