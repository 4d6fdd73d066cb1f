/** Types of the API, as seen by an API client. */
export interface Resource {
  id: string;
  type: 'resource';
  status: 'active' | 'inactive' | 'archived';
  name: string;
  metadata: Record<string, string>;
  created_at: string;
  updated_at: string;
}

export interface Webhook {
  id: string;
  url: string;
  events: string[];
  status: 'active' | 'paused' | 'disabled';
  disabled_reason: string | null;
  description: string;
  ordered: boolean;
  retry_policy: object;
  rate_limit: { requests_per_second: number | null; max_concurrency: number };
  headers: Record<string, string>;
  secret_headers: string[];
  timeout: number;
  signature_alias: string | null;
  filter: object | null;
  health: {
    state: 'healthy' | 'failing' | 'paused' | 'disabled';
    success_rate_1h: number | null;
    pending: number;
    oldest_pending_at: string | null;
    next_attempt_at: string | null;
  };
  client_certificate: object | null;
  previous_secret_expires_at: string | null;
  secret?: string;
  created_at: string;
  updated_at: string;
}

export interface ApiKey {
  id: string;
  type: 'api_key';
  name: string;
  scope: Scope | 'restricted';
  permissions: string[];
  environment: ShownEnvironment;
  hint: string;
  status: 'active' | 'expired' | 'revoked' | 'rolled';
  allowed_ips: string[];
  rate_limit: number | null;
  expires_at: string | null;
  created_at: string;
  last_used_at: string | null;
  rolled_to: string | null;
  key?: string;
}

export interface AuditEntry {
  id: string;
  action: string;
  actor: string;
  actor_name: string | null;
  target_id: string;
  target_name: string | null;
  changes: { field: string; before: unknown; after: unknown }[];
  environment: ShownEnvironment | null;
  request_id: string | null;
  created_at: string;
}

/** Result of a test delivery. */
export interface TestAttempt {
  delivery_id: string;
  request: { url: string; headers: Record<string, string>; body: string };
  response: { status: number } | null;
  error: string | null;
}

export interface One<T> {
  data: T;
}

export interface Page<T> {
  data: T[];
  meta: { total: number; page: number; per_page: number };
  links: { next: string | null; prev: string | null };
}

export interface ErrorBody {
  error: {
    code: string;
    message: string;
    status: number;
    details?: { field: string; message: string }[];
    doc_url?: string;
  };
}

export interface Envelope {
  id: string;
  type: string;
  created_at: string;
  data: { object: Resource & { version: number }; previous_attributes?: Partial<Resource> };
}

/** An event of the feed; data is null once erased. */
export interface FeedEvent extends Omit<Envelope, 'data'> {
  data: Envelope['data'] | null;
  sequence: number;
}

export interface FeedPage extends Page<FeedEvent> {
  meta: Page<FeedEvent>['meta'] & { oldest_sequence: number; newest_sequence: number };
}

/** Output of `rms deliveries list --json`. */
export interface DeliveryList {
  data: Delivery[];
}

export interface Delivery {
  id: string;
  event_id: string;
  event_type: string;
  webhook_id: string;
  status: 'pending' | 'delivered' | 'failed';
  attempt_count: number;
}

/** Output of `rms deliveries show --json`. */
export interface FullDelivery extends Delivery {
  attempts: { started_at: string; response: { status: number } | null; error: string | null; duration_ms: number }[];
}

/** Output of `rms keys create --json` and `rms keys roll --json`. */
export interface NewKey {
  id: string;
  key: string;
  environment: ShownEnvironment;
  scope: Scope;
  name: string;
  expires_at: string | null;
  allowed_ips: string[];
}

export type Scope = 'read' | 'write' | 'admin';
/** Environment as `rms` accepts it. */
export type Environment = 'live' | 'test';
/** Environment as the API and `rms` show it. */
export type ShownEnvironment = 'live' | 'sandbox';

export const timestampForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
