import type { Timeline } from '@rms/api';
import { fields, table } from '../print.ts';
import { timelineText } from '../timeline-text.ts';

/** API objects that commands show. */
export type Noun =
  | 'resources'
  | 'webhooks'
  | 'events'
  | 'deliveries'
  | 'replays'
  | 'portal'
  | 'requests'
  | 'metrics'
  | 'alert-rules'
  | 'incidents'
  | 'alert-channels'
  | 'keys'
  | 'members'
  | 'invitations'
  | 'workspace'
  | 'audit';

/** The lists' columns: fields of the documents, with a dot for fields of objects in them. */
const columns: Readonly<Record<Noun, readonly string[]>> = {
  resources: ['id', 'name', 'status', 'created_at', 'updated_at'],
  webhooks: ['id', 'url', 'events', 'status', 'health.state', 'disabled_reason', 'created_at'],
  events: ['sequence', 'id', 'type', 'created_at', 'data.object.id'],
  deliveries: ['id', 'event_type', 'webhook_id', 'status', 'created_at', 'attempt_count', 'last_attempt.status'],
  portal: ['url', 'expires_at'],
  replays: ['id', 'webhook_id', 'status', 'matching', 'sent', 'created_at'],
  requests: [
    'started_at',
    'request_id',
    'method',
    'path',
    'status',
    'error_code',
    'duration_ms',
    'api_key_id',
    'client_ip',
  ],
  metrics: [
    'start',
    'group',
    ...['count', 'errors_4xx', 'errors_5xx', 'rate_limited'],
    ...['created', 'delivered', 'failed', 'canceled', 'skipped', 'filtered', 'attempts'],
    ...['p50_ms', 'p95_ms', 'p99_ms'],
  ],
  'alert-rules': ['kind', 'enabled', 'threshold', 'window', 'minimum', 'to_owners', 'recipients'],
  incidents: ['id', 'kind', 'subject.id', 'subject.name', 'status', 'severity', 'opened_at', 'closed_at', 'summary'],
  'alert-channels': ['id', 'type', 'name', 'addresses', 'url', 'hint', 'created_at'],
  keys: ['id', 'name', 'scope', 'hint', 'created_at', 'created_by_name', 'last_used_at', 'expires_at', 'status'],
  members: ['id', 'email', 'name', 'role', 'has_second_factor', 'disabled', 'last_sign_in_at'],
  invitations: ['id', 'email', 'role', 'invited_by', 'created_at', 'expires_at'],
  workspace: [],
  audit: ['created_at', 'action', 'actor', 'actor_name', 'target_id', 'request_id'],
};

/** Formats a list's items as a table. */
export function rowsText(noun: Noun, items: readonly object[]): string {
  const known = columns[noun].filter(
    (name) => items.length === 0 || items.some((item) => valueAt(item, name) !== undefined),
  );
  return table(
    known.map((name) => name.split('.').slice(-2).join(' ').replaceAll('_', ' ').toUpperCase()),
    items.map((item) => known.map((name) => textOf(valueAt(item, name)))),
  );
}

/** Formats one item of a list as one line: its columns, "-" for an empty one. */
export function lineText(noun: Noun, item: object): string {
  return columns[noun].map((name) => textOf(valueAt(item, name)) || '-').join('  ');
}

/** Formats one document: its fields, one per line; those of objects in it by path, for example `limits.window_seconds`. */
export function oneText(noun: Noun, document: object): string {
  if ('type' in document && document.type === 'request_timeline') return timelineText(document as Timeline);
  const shown = Object.entries(document).flatMap(([name, value]) => fieldsOf(name, value));
  const secret = noun === 'keys' ? 'key' : 'secret';
  const text = fields(shown);
  return secret in document ? `${text}\n\nThe ${secret} is shown only once.` : text;
}

function fieldsOf(name: string, value: unknown): [string, string][] {
  const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (members.length === 0) return [[name, textOf(value)]];
  return members.flatMap(([member, one]) => fieldsOf(`${name}.${member}`, one));
}

function valueAt(item: object, name: string): unknown {
  return name
    .split('.')
    .reduce<unknown>((value, part) => (value as Record<string, unknown> | null | undefined)?.[part], item);
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
