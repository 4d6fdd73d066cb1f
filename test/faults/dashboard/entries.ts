import { randomInt } from 'node:crypto';
import type { Named } from './named.ts';

/** One call of an endpoint, with names of the owner's objects. */
export interface Call {
  /** Replaces {id} or {request_id} in the path. */
  readonly id?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** Calls of an endpoint that name objects of another user. */
export interface Entry {
  /**
   * Scope of the endpoint. "tenant": a workspace and an environment. "workspace": a workspace, both environments.
   * "user": the signed-in user. "none": no session is required.
   */
  readonly keyedBy: 'tenant' | 'workspace' | 'user' | 'none';
  readonly calls: readonly ((named: Named) => Call)[];
}

const tenant = (...calls: Entry['calls']): Entry => ({ keyedBy: 'tenant', calls });
const workspace = (...calls: Entry['calls']): Entry => ({ keyedBy: 'workspace', calls });
const ofUser = (...calls: Entry['calls']): Entry => ({ keyedBy: 'user', calls });
const noUser = (...calls: Entry['calls']): Entry => ({ keyedBy: 'none', calls });

const nothing = () => ({});
/** A new address per invitation, because emails per address are limited. */
const newGuest = () => `guest-${randomInt(2 ** 40).toString(36)}@example.com`;
const password = 'a password of twelve and more';
const newKey = { name: 'k', scope: 'read' };
const replayed = {
  created_after: '2026-01-01T00:00:00Z',
  statuses: ['delivered', 'failed'],
  rate_per_second: 1_000,
};

const yesterday = new Date(Date.now() - 86_400_000).toISOString();

/** An unused port: events created here must not be delivered anywhere. */
const url = 'http://127.0.0.1:65535/stranger';

/** Every endpoint of the dashboard. */
export const entries: Readonly<Record<string, Entry>> = {
  'POST /api/sign-in': noUser(({ email }) => ({ body: { email, password: 'wrong password' } })),
  'GET /api/sign-in/options': noUser(nothing),
  'POST /api/sign-in/second-factor': noUser(() => ({ body: { code: '000000' } })),
  'POST /api/password-reset/request': noUser(({ email }) => ({ body: { email } })),
  'POST /api/password-reset': noUser(({ user, invitation }) => ({ body: { token: user + invitation, password } })),
  'POST /api/invitation/find': noUser(({ invitation }) => ({ body: { token: invitation } })),
  'POST /api/invitation/accept': noUser(({ invitation }) => ({ body: { token: invitation, name: 'S', password } })),
  'POST /api/email-change': noUser(({ user }) => ({ body: { token: user } })),
  'POST /api/unsubscribe/find': noUser(({ email }) => ({ body: { token: email } })),
  'POST /api/unsubscribe': noUser(({ email }) => ({ body: { token: email } })),
  'POST /api/unsubscribe/undo': noUser(({ email }) => ({ body: { token: email } })),
  'POST /api/alert-recipient/find': noUser(({ email }) => ({ body: { token: email } })),
  'POST /api/alert-recipient': noUser(({ email }) => ({ body: { token: email } })),
  'GET /api/portal': noUser(nothing),
  'POST /api/portal/open': noUser(({ invitation }) => ({ body: { token: invitation } })),

  'GET /api/account': ofUser(nothing),
  'PATCH /api/account': ofUser(() => ({ body: { name: 'Stranger' } })),
  'POST /api/account/sign-out': ofUser(nothing),
  'GET /api/account/sessions': ofUser(nothing),
  'POST /api/account/sessions/end-others': ofUser(nothing),
  'DELETE /api/account/sessions/{id}': ofUser(({ session }) => ({ id: session })),
  'POST /api/account/password': ofUser(() => ({ body: { current_password: 'wrong password', password } })),
  'GET /api/account/second-factor': ofUser(nothing),
  'POST /api/account/second-factor/begin': ofUser(() => ({ body: { password: 'wrong password' } })),
  'POST /api/account/second-factor/confirm': ofUser(() => ({ body: { code: '000000' } })),
  'POST /api/account/second-factor/recovery-codes': ofUser(() => ({ body: { code: '000000' } })),
  'POST /api/account/second-factor/remove': ofUser(() => ({ body: { code: '000000' } })),
  'POST /api/account/email': ofUser(({ email }) => ({ body: { email, password: 'wrong password', code: '' } })),
  'POST /api/account/delete': ofUser(() => ({ body: { password: 'wrong password', code: '' } })),
  'GET /api/account/identities': ofUser(nothing),
  'POST /api/account/identities/unlink': ofUser(() => ({
    body: { issuer: 'https://id.example.com', password: 'wrong password', code: '' },
  })),
  'POST /api/account/invitation': ofUser(({ invitation }) => ({ body: { token: invitation } })),

  'GET /api_keys': tenant(nothing),
  'POST /api_keys': tenant(() => ({ body: newKey })),
  'GET /api_keys/{id}': tenant(({ key }) => ({ id: key })),
  'PATCH /api_keys/{id}': tenant(({ key }) => ({ id: key, body: { name: 'Mine' } })),
  'POST /api_keys/{id}/roll': tenant(({ key }) => ({ id: key, body: { overlap: 0 } })),
  'DELETE /api_keys/{id}': tenant(({ key }) => ({ id: key })),

  'GET /webhooks': tenant(nothing, ({ webhookCursor: cursor }) => ({ query: { cursor } })),
  'POST /webhooks': tenant(() => ({ body: { url, events: ['*'] } })),
  'GET /webhooks/{id}': tenant(({ webhook }) => ({ id: webhook, query: { full_health: 'true' } })),
  'PATCH /webhooks/{id}': tenant(({ webhook }) => ({ id: webhook, body: { status: 'disabled', url } })),
  'DELETE /webhooks/{id}': tenant(({ webhook }) => ({ id: webhook })),
  'POST /webhooks/filter_test': tenant(({ event }) => ({
    body: { filter: { all: [{ field: 'name', op: 'exists' }] }, event_id: event },
  })),
  'POST /webhooks/{id}/pause': tenant(({ webhook }) => ({ id: webhook })),
  'POST /webhooks/{id}/resume': tenant(({ webhook }) => ({ id: webhook })),
  'PUT /webhooks/{id}/client_certificate': tenant(({ webhook }) => ({
    id: webhook,
    body: { certificate: 'c', private_key: 'k' },
  })),
  'DELETE /webhooks/{id}/client_certificate': tenant(({ webhook }) => ({ id: webhook })),
  'POST /webhooks/{id}/rotate_secret': tenant(({ webhook }) => ({ id: webhook, body: { overlap: 0 } })),
  'POST /webhooks/{id}/test': tenant(({ webhook }) => ({ id: webhook, body: { event_type: 'resource.created' } })),

  'GET /deliveries': tenant(
    nothing,
    ({ webhook }) => ({ query: { webhook_id: webhook } }),
    ({ request }) => ({ query: { request_id: request } }),
    ({ resource }) => ({ query: { resource_id: resource } }),
    ({ event }) => ({ query: { event_id: event } }),
    ({ deliveryCursor: cursor }) => ({ query: { cursor } }),
  ),
  'GET /deliveries/tail': tenant(nothing),
  'POST /deliveries/redeliver': tenant(({ delivery }) => ({ body: { ids: [delivery] } })),
  'GET /deliveries/{id}': tenant(({ delivery }) => ({ id: delivery })),
  'POST /deliveries/{id}/redeliver': tenant(({ delivery }) => ({ id: delivery })),
  'POST /deliveries/{id}/cancel': tenant(({ delivery }) => ({ id: delivery })),
  'POST /replays': tenant(
    ({ webhook }) => ({ body: { webhook_id: webhook, dry_run: true, ...replayed } }),
    ({ webhook }) => ({ body: { webhook_id: webhook, dry_run: false, ...replayed } }),
  ),
  'GET /replays': tenant(nothing),
  'GET /replays/{id}': tenant(({ replay }) => ({ id: replay })),
  'POST /replays/{id}/cancel': tenant(({ replay }) => ({ id: replay })),

  'GET /resources': tenant(
    nothing,
    () => ({ query: { name_prefix: 'Priv', 'metadata[k]': 'v' } }),
    () => ({ query: { name_prefix: 'Priv' } }),
    ({ resourceCursor: cursor }) => ({ query: { cursor } }),
  ),
  'POST /resources': tenant(() => ({ body: { name: 'Mine', metadata: {} } })),
  'GET /resources/{id}': tenant(({ resource }) => ({ id: resource, query: { input_type: 'true' } })),
  'GET /resources/{id}/events': tenant(({ resource }) => ({ id: resource })),
  'GET /events': tenant(nothing),
  'GET /events/{id}': tenant(({ event }) => ({ id: event, query: { request_id: 'true' } })),
  'PATCH /resources/{id}': tenant(({ resource }) => ({ id: resource, body: { name: 'Mine' } })),
  'DELETE /resources/{id}': tenant(({ resource }) => ({ id: resource })),

  'GET /members': workspace(nothing),
  'GET /members/{id}/keys': workspace(({ user }) => ({ id: user })),
  'GET /members/{id}': workspace(({ user }) => ({ id: user })),
  'PATCH /members/{id}': workspace(({ user }) => ({ id: user, body: { role: 'viewer' } })),
  'DELETE /members/{id}': workspace(({ user }) => ({ id: user })),
  'GET /invitations': workspace(nothing),
  'POST /invitations': workspace(() => ({ body: { email: newGuest(), role: 'viewer' } })),
  'GET /invitations/{id}': workspace(({ invitation }) => ({ id: invitation })),
  'DELETE /invitations/{id}': workspace(({ invitation }) => ({ id: invitation })),
  'GET /audit_log': workspace(
    nothing,
    ({ webhook }) => ({ query: { target_id: webhook } }),
    ({ auditCursor: cursor }) => ({ query: { cursor } }),
  ),

  'GET /limits': tenant(nothing),
  'GET /requests': tenant(nothing, ({ key }) => ({ query: { api_key_id: key } })),
  'GET /requests/{request_id}': tenant(({ request }) => ({ id: request })),
  'GET /metrics/requests': tenant(
    () => ({ query: { from: yesterday } }),
    () => ({ query: { from: yesterday, group_by: 'route' } }),
  ),
  'GET /metrics/deliveries': tenant(
    () => ({ query: { from: yesterday } }),
    ({ webhook: webhook_id }) => ({ query: { from: yesterday, group_by: 'event_type', webhook_id } }),
  ),
  'GET /workspace': tenant(nothing),
  'GET /unfinished-deliveries': tenant(nothing),
  'GET /alert_rules': tenant(nothing),
  'GET /alert_rules/{kind}': tenant(() => ({ id: 'quota' })),
  'PUT /alert_rules/{kind}': tenant(() => ({ id: 'quota', body: { enabled: true } })),
  // Its email goes to the workspace's owners, who are the same for both environments.
  'POST /alert_rules/{kind}/test': workspace(() => ({ id: 'quota' })),
  'GET /incidents': tenant(nothing),
  'GET /incidents/{id}': tenant(({ incident }) => ({ id: incident })),
  'POST /incidents/{id}/acknowledge': tenant(({ incident }) => ({ id: incident })),
  'POST /incidents/{id}/mute': tenant(({ incident }) => ({ id: incident, body: { until: null } })),
  'GET /alert_channels': tenant(nothing),
  'POST /alert_channels': tenant(() => ({
    body: { type: 'pagerduty', name: 'Mine', routing_key: 'key-of-the-stranger' },
  })),
  'GET /alert_channels/{id}': tenant(({ channel }) => ({ id: channel })),
  'PATCH /alert_channels/{id}': tenant(({ channel }) => ({ id: channel, body: { name: 'Mine' } })),
  'DELETE /alert_channels/{id}': tenant(({ channel }) => ({ id: channel })),
  'POST /alert_channels/{id}/test': tenant(({ channel }) => ({ id: channel })),
  // Emails of both environments.
  'GET /email-status': workspace(nothing),
};
