/** The shapes of the specification, as a client of the API sees them. */
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
  status: 'active' | 'disabled';
  secret?: string;
  created_at: string;
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
  };
}

export interface Envelope {
  id: string;
  type: string;
  created_at: string;
  data: { object: Resource; previous_attributes?: Partial<Resource> };
}

/** An event of the feed; data is null once erased. */
export interface FeedEvent extends Omit<Envelope, 'data'> {
  data: Envelope['data'] | null;
  sequence: number;
}

export interface FeedPage extends Page<FeedEvent> {
  meta: Page<FeedEvent>['meta'] & { oldest_sequence: number; newest_sequence: number };
}

/** What `rms deliveries list --json` prints. */
export interface DeliveryList {
  data: Delivery[];
}

export interface Delivery {
  id: string;
  event_id: string;
  event_type: string;
  webhook_id: string;
  status: 'pending' | 'delivered' | 'failed';
  attempts: { at: string; status_code: number | null; error: string | null; duration_ms: number }[];
}

/** What `rms keys create --json` and `rms keys roll --json` print. */
export interface NewKey {
  id: string;
  key: string;
  environment: 'live' | 'test';
  scope: Scope;
  name: string;
  expires_at: string | null;
  allowed_ips: string[];
}

export type Scope = 'read' | 'write' | 'admin';
export type Environment = 'live' | 'test';

export const timestampForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
