import type { Role } from '@rms/roles';
import type { EnvironmentName } from '../checks/tenant.ts';

/** Who is signed in, and what the pages have to know at once. */
export interface AccountDocument {
  readonly user: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly has_password: boolean;
    readonly has_second_factor: boolean;
  };
  readonly workspaces: readonly { readonly id: string; readonly name: string; readonly role: Role }[];
  /** Goes into X-CSRF-Token of every change. */
  readonly csrf_token: string;
  /** Bases of the REST API, for examples. */
  readonly api_urls: Readonly<Record<EnvironmentName, string>>;
}

export interface SessionDocument {
  readonly id: string;
  /** It is the one that asks. */
  readonly current: boolean;
  readonly address: string;
  readonly user_agent: string;
  readonly created_at: string;
  readonly last_seen_at: string;
  readonly expires_at: string;
}
