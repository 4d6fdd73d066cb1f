import type { Permission } from '@rms/base/roles';
import type { Environment } from '@rms/base/tenant';

/** A portal session, with the data that its pages need. */
export interface PortalDocument {
  readonly workspace: string;
  readonly environment: Environment;
  readonly permissions: readonly Permission[];
  readonly expires_at: string | null;
  readonly return_url: string | null;
  readonly theme: {
    readonly mode: string;
    /** "#rrggbb". */
    readonly primary_color: string | null;
    /** data: URL. */
    readonly logo_url: string | null;
  };
}

/** An opened portal session. */
export interface OpenedPortalDocument extends PortalDocument {
  /** Value of the X-Portal-Token header of every request of the session. */
  readonly token: string;
}
