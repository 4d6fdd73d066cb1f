import type { Workspace } from '@rms/api';

/** Effective limits of the API and rules, which the pages show. 0: no limit. */
export interface LimitsDocument extends Pick<Workspace, 'plan' | 'limits'> {
  /** Maximum number of valid keys. */
  readonly max_keys: number;
  /** Maximum number of webhooks in both environments together. */
  readonly max_webhooks: number;
  readonly max_members: number;
  /** Maximum number of open invitations. */
  readonly max_invitations: number;
  /** URLs that webhooks may have. */
  readonly webhook_urls: {
    readonly http: boolean;
    /** Whether some networks that are not public are permitted. */
    readonly private_networks: boolean;
  };
  /** Time without a successful delivery until a webhook is disabled. 0: never. */
  readonly webhook_disable_after_hours: number;
  readonly delivery_log_days: number;
  /** Which requests have a record: all, only writes and failed reads, or none. */
  readonly request_log: 'all' | 'writes' | 'none';
  readonly request_log_days: number;
  /** URL of a trace, containing "{trace_id}". null: traces are not linked. */
  readonly trace_url: string | null;
}
