import type { Role } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';

/** Signed-in user, with the data that every page needs. */
export interface AccountDocument {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly has_password: boolean;
    readonly has_second_factor: boolean;
  };
  readonly workspaces: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
  /** Value of the X-CSRF-Token header of every change. */
  readonly csrf_token: string;
  /** Base URLs of the REST API, for examples. */
  readonly api_urls: Readonly<Record<Environment, string>>;
}

export interface SessionDocument {
  readonly id: string;
  /** True for the session of this request. */
  readonly current: boolean;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
}

/** Account at an OpenID Connect provider that the user can sign in with. */
export interface IdentityDocument {
  readonly issuer: string;
  readonly subject: string;
  readonly linked_at: string | null;
  /** Email address at the time of linking; may be empty. */
  readonly email: string;
  /** Client address of the sign-in that linked it; may be empty. */
  readonly address: string;
}
