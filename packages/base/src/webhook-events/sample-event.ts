import { type EventType, isOperational, type OperationalEventType, type ResourceEventType } from './event-types.ts';

/** Parts of a sample event that differ between samples. */
export interface SampleParts {
  readonly eventId: string;
  /** ID of the object. Its prefix does not matter. */
  readonly resourceId: string;
  readonly at: Date;
}

/** State and version of the resource after the change, and the previous values of the changed attributes. */
const changes: Readonly<Record<ResourceEventType, { status: string; version: number; previous_attributes?: object }>> =
  {
    'resource.created': { status: 'active', version: 1 },
    'resource.updated': { status: 'active', version: 2, previous_attributes: { name: 'Old name', metadata: {} } },
    'resource.deleted': { status: 'active', version: 2 },
    'resource.status_changed': { status: 'inactive', version: 3, previous_attributes: { status: 'active' } },
  };

/** Prefixes of the IDs of operational events' objects, by the first part of the type. */
const prefixes: Readonly<Record<string, string>> = { webhook: 'wh_', api_key: 'key_', delivery: 'dlv_', quota: 'ws_' };

/** Objects of operational events, by the first part of the type. */
const sampleObjects: Readonly<Record<string, (type: OperationalEventType, id: string, at: Date) => object>> = {
  webhook: (type, id, at) => ({
    id,
    url: 'https://example.com/hooks',
    events: ['*'],
    status: type === 'webhook.disabled' ? 'disabled' : 'active',
    disabled_reason: type === 'webhook.disabled' ? 'failing' : null,
    description: 'Sample webhook',
    ordered: false,
    retry_policy: { max_retries: 5, initial_delay: 60, max_delay: 43_200 },
    rate_limit: { requests_per_second: null, max_concurrency: 32 },
    headers: {},
    secret_headers: [],
    timeout: 10,
    signature_alias: null,
    filter: null,
    client_certificate: null,
    previous_secret_expires_at: null,
    created_at: at.toISOString(),
    updated_at: at.toISOString(),
    version: at.getTime(),
  }),
  api_key: (type, id, at) => {
    const time = at.toISOString();
    const later = new Date(at.getTime() + 7 * 24 * 3_600_000).toISOString();
    const isRolled = type === 'api_key.rolled';
    return {
      id,
      type: 'api_key',
      name: 'Sample key',
      scope: 'write',
      permissions: [],
      environment: 'live',
      hint: 'sk_live_Ab3d…yz12',
      status: type === 'api_key.revoked' ? 'revoked' : isRolled ? 'rolled' : 'active',
      allowed_ips: [],
      rate_limit: null,
      expires_at: type === 'api_key.expiring' ? later : null,
      created_at: time,
      created_by: 'system',
      created_by_name: null,
      last_used_at: null,
      last_used_ip: null,
      last_refusal: null,
      revoked_at: type === 'api_key.revoked' ? time : null,
      rolled_at: isRolled ? time : null,
      rolled_to: isRolled ? 'key_01jc3v9m0w7y8x2k4n6p8q0r2t' : null,
      overlap_ends_at: isRolled ? later : null,
      version: type === 'api_key.created' ? 1 : 2,
    };
  },
  delivery: (_, id, at) => {
    const time = at.toISOString();
    return {
      id,
      type: 'delivery',
      webhook_id: 'wh_01jc3v9m0w7y8x2k4n6p8q0r2s',
      event_id: 'evt_01jc3v9m0w7y8x2k4n6p8q0r2t',
      event_type: 'resource.created',
      resource_id: 'res_01jc3v9m0w7y8x2k4n6p8q0r2s',
      request_id: 'req_01jc3v9m0w7y8x2k4n6p8q0r2s',
      test: false,
      origin: 'event',
      status: 'failed',
      attempt_count: 6,
      next_attempt_at: null,
      delay_reason: null,
      last_attempt: { started_at: time, status: 500, error: 'status: 500 Internal Server Error', duration_ms: 120 },
      end_reason: 'retries_exhausted',
      created_at: time,
      ended_at: time,
    };
  },
  quota: (type, id, at) => ({
    id,
    type: 'workspace',
    environment: 'live',
    limits: { requests_per_month: 1_000_000 },
    usage: {
      requests: type === 'quota.exceeded' ? 1_000_000 : 800_000,
      month_start: new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth())).toISOString(),
      month_end: new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)).toISOString(),
    },
  }),
};

/**
 * Returns the envelope of an event about an object that does not exist. Test events and the OpenAPI document's examples
 * are such events.
 */
export function sampleEvent(type: EventType, { eventId, resourceId, at }: SampleParts) {
  const envelope = (data: object) => ({ id: eventId, type, created_at: at.toISOString(), data });
  if (isOperational(type)) {
    const noun = type.split('.')[0] ?? '';
    const id = resourceId.replace(/^[a-z]+_/, prefixes[noun] ?? '');
    return envelope({ object: sampleObjects[noun]?.(type, id, at) });
  }
  const { status, version, ...previous } = changes[type];
  const time = at.toISOString();
  const object = {
    id: resourceId,
    type: 'resource',
    status,
    name: 'Sample resource',
    input_type: 'standard',
    metadata: { team: 'blue' },
    created_at: time,
    updated_at: time,
    version,
  };
  return envelope({ object, ...previous });
}
