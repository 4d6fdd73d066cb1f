import { eventTypes } from '@rms/base/webhook-events';
import { z } from 'zod';
import type { Delivery } from '../delivery/schema.ts';
import { seconds, shownTime, text } from '../field-schemas.ts';
import { listOf } from '../list.ts';
import { webhookFilter } from '../webhook-filter/endpoints.ts';

/** URL of a webhook in a request. The webhooks service checks it; {@link webhookUrlShape} documents the rules. */
export const webhookUrl = text(1, 2_048);

/** URLs that the installation permits for webhooks, besides public HTTPS URLs. */
export interface WebhookUrls {
  readonly http: boolean;
  /** Whether some networks that are not public are permitted. */
  readonly privateNetworks: boolean;
}

/** Returns the keywords of {@link webhookUrl} in an installation. */
export function webhookUrlShape({ http, privateNetworks }: WebhookUrls) {
  const kind = http ? 'HTTP or HTTPS URL' : 'HTTPS URL';
  const reach = privateNetworks
    ? `${kind} that is publicly reachable or in a network that this installation permits,`
    : `Publicly reachable ${kind}`;
  return {
    description:
      `${reach} without user information. The port must be 443, 80 or at least 1024, and not that of another ` +
      'well-known service.',
    format: 'uri',
    pattern: `^[Hh][Tt][Tt][Pp]${http ? '[Ss]?' : '[Ss]'}://[^\\u0000]*$`,
    examples: ['https://example.com/hooks'],
  };
}

const events = z
  .array(z.enum([...eventTypes, '*']))
  .max(eventTypes.length)
  .superRefine((types, context) => {
    if (types.length === 0) context.addIssue('must contain at least one event type');
    if (new Set(types).size < types.length) context.addIssue('must not contain an event type twice');
    if (types.includes('*') && types.length > 1) context.addIssue('"*" cannot be combined with other event types');
  })
  .meta({
    override: {
      type: 'array',
      minItems: 1,
      maxItems: eventTypes.length,
      // Generators of clients ignore `if`. With `oneOf`, some of them lose the items' type; with `uniqueItems`, the
      // one for Java creates code that does not compile.
      if: { contains: { const: '*' } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { maxItems: 1 },
      else: { uniqueItems: true },
      description:
        'Event types, or `["*"]` for all types of events about resources. Operational events are sent only to webhooks that ' +
        'list their types, and never to the webhook that they are about.',
      examples: [['*']],
    },
  });

const status = z
  .enum(['active', 'paused', 'disabled'])
  .describe(
    '`paused`: events are queued, and none is sent until the webhook is resumed. `disabled`: events are skipped. ' +
      'Disabling ends the queue as failed.',
  );

const description = text(0, 500).describe('Shown to the users of the dashboard.');
const ordered = z
  .boolean()
  .describe('Whether the deliveries of a resource are sent one at a time, in the order of its events.');

const maxDelaySeconds = 7 * 86_400;
const delay = seconds(0.01, maxDelaySeconds);

/** Either `delays`, or the other three fields. */
const retryPolicy = z
  .strictObject({
    max_retries: z.int().min(0).max(50).optional().describe('Retries after the first attempt.'),
    initial_delay: delay.optional().describe('Seconds before the first retry.'),
    max_delay: delay.optional().describe('Maximum number of seconds between two attempts.'),
    delays: z.array(delay).min(1).max(50).optional().describe('Seconds before each retry.'),
  })
  .superRefine(({ delays, max_retries: retries, initial_delay: initial, max_delay: max }, context) => {
    const given = [retries, initial, max].filter((value) => value !== undefined).length;
    if (given !== (delays ? 0 : 3)) {
      context.addIssue('must contain either `delays`, or `max_retries`, `initial_delay` and `max_delay`');
    } else if (max !== undefined && initial !== undefined && max < initial) {
      context.addIssue({ code: 'custom', path: ['max_delay'], message: 'must be at least initial_delay' });
    }
  })
  .describe(
    'Delays before retries. The delays are `initial_delay` × 1, 5, 30, 120, 720, then six times the previous delay, ' +
      'each at most `max_delay`; or exactly `delays`. Contains either `delays` or the other three fields.',
  )
  .meta({ id: 'RetryPolicy', example: { max_retries: 5, initial_delay: 60, max_delay: 43_200 } });

export type RetryPolicyDocument = z.infer<typeof retryPolicy>;

export const defaultMaxConcurrency = 32;
export const defaultTimeoutSeconds = 10;
const maxHeaders = 20;

const rateLimit = z
  .strictObject({
    requests_per_second: z
      .number()
      .min(0.01)
      .max(10_000)
      .nullable()
      .describe('Maximum number of attempts per second. Null: no limit.'),
    max_concurrency: z.int().min(1).max(1_000).describe('Maximum number of concurrent attempts.'),
  })
  .describe('Limits of the attempts at the endpoint of the webhook.')
  .meta({ id: 'WebhookRateLimit', example: { requests_per_second: 10, max_concurrency: defaultMaxConcurrency } });

export type RateLimitDocument = z.infer<typeof rateLimit>;

/** Rate limit of a request, with optional fields. */
const rateLimitChange = rateLimit
  .partial()
  .describe(
    'Omitted fields keep their value. In a new webhook, they are null (`requests_per_second`) and ' +
      `${defaultMaxConcurrency} (\`max_concurrency\`).`,
  )
  .meta({ id: 'WebhookRateLimitChange', example: { requests_per_second: 10 } });

export type RateLimitChange = z.infer<typeof rateLimitChange>;

const headers = z
  .record(text(1, 100), text(0, 500))
  .refine((all) => Object.keys(all).length <= maxHeaders, `must have at most ${maxHeaders} headers`)
  .describe('Custom headers of every request. Not names that the service or HTTP sets.')
  .meta({
    override: ({ jsonSchema }) => {
      jsonSchema.maxProperties = maxHeaders;
    },
    examples: [{ 'X-Environment': 'production' }],
  });
const headersOfRequest = headers.describe(
  'Custom headers of every request. Replaces all headers, except those in `secret_headers` without a value here, which ' +
    'keep their value. Names that the service or HTTP sets are refused, for example `Content-Type`. Values have ' +
    'printable ASCII characters.',
);
const secretHeaders = z
  .array(text(1, 100))
  .max(maxHeaders)
  .describe('Names of headers with values that are stored encrypted, and never returned.')
  .meta({ examples: [['Authorization']] });

const timeout = seconds(1, 30).describe('Seconds within which the complete response must arrive.');
const signatureAlias = text(1, 100)
  .nullable()
  .describe('Name of another header with the value of `X-Service-Signature`. Null: none.');

const settings = {
  headers: headersOfRequest.optional(),
  secret_headers: secretHeaders.optional(),
  timeout: timeout.optional(),
  signature_alias: signatureAlias.optional(),
  filter: webhookFilter.nullable().optional().describe('Null: all events.'),
  description: description.optional(),
  ordered: ordered.optional(),
  retry_policy: retryPolicy.optional(),
  rate_limit: rateLimitChange.optional(),
};

export const createWebhookBody = z
  .strictObject({
    url: webhookUrl,
    events,
    status: status.optional().meta({ override: { default: 'active' } }),
    ...settings,
    timeout: timeout.optional().meta({ override: { default: defaultTimeoutSeconds } }),
  })
  .meta({ id: 'CreateWebhook', example: { url: 'https://example.com/hooks', events: ['*'] } });

export const updateWebhookBody = z
  .strictObject({ url: webhookUrl.optional(), events: events.optional(), status: status.optional(), ...settings })
  .meta({ id: 'UpdateWebhook', example: { status: 'disabled' } });

/** Without a pattern: URLs that were stored with WEBHOOK_ALLOW_HTTP may use http. */
const shownUrl = z.string().meta({ format: 'uri', examples: ['https://example.com/hooks'] });

const webhookId = z.string().meta({ pattern: '^wh_[0-9a-z]+$', examples: ['wh_01jc3v9m0w7y8x2k4n6p8q0r2s'] });

/** The signing secret of a new webhook or alert channel. */
export const newSecret = z
  .string()
  .meta({
    pattern: '^whsec_',
    description: 'Secret key of the signatures. Shown only once, to the API key that sent the request.',
    examples: ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='],
  })
  .optional();

const healthState = z.enum(['healthy', 'failing', 'paused', 'disabled']);

/** Query parameters of the list. */
export const webhookFilters = {
  url: text(1, 2_048).optional().describe('Only webhooks with exactly this URL.'),
  status: status.optional().describe('Only webhooks with this status.'),
  health: healthState.optional().describe('Only webhooks with this `health.state`.'),
};

const health = z
  .strictObject({
    state: healthState.describe(
      '`failing`: no delivery has succeeded recently. `paused`: the webhook is paused, or only occasional probes are sent.',
    ),
    success_rate_1h: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .describe('Share of successful attempts in the last hour. Null if there were none.'),
    pending: z.int().min(0).describe('Unfinished deliveries. 1,000 means 1,000 or more.'),
    oldest_pending_at: shownTime
      .nullable()
      .describe('Creation time of the oldest unfinished delivery among the 1,000 due first.'),
    next_attempt_at: shownTime
      .nullable()
      .describe('Not earlier than `requests_per_second` allows. Approximate if the state is `paused`.'),
  })
  .meta({ id: 'WebhookHealth' });

/** Health with fields only for pages and `rms`. It changes as time passes. */
interface FullHealth extends z.infer<typeof health> {
  /** Why due deliveries wait until `next_attempt_at`. Null: none does. */
  readonly delay_reason: Delivery['delay_reason'];
  /** Null if the last delivery succeeded, or there was none. */
  readonly failing_since: string | null;
  /** Time when the circuit opened. Null: it is closed. */
  readonly paused_since: string | null;
  readonly last_hour: HealthWindow | null;
  readonly last_day: HealthWindow | null;
}

/** Counts of attempts and ended deliveries in a time window. */
export interface HealthWindow {
  readonly since: string;
  readonly attempts: number;
  /** Deliveries, each by a successful attempt. */
  readonly delivered: number;
  /** Failed attempts that others follow. */
  readonly retried: number;
  /** Deliveries, with a last attempt or without, for example because the webhook was disabled. */
  readonly failed: number;
  readonly canceled: number;
  /** Null without an attempt. */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** Most frequent first. */
  readonly errors: readonly { readonly class: string; readonly count: number }[];
}

const fields = {
  id: webhookId,
  url: shownUrl,
  events,
  status,
  disabled_reason: z
    .enum(['manual', 'gone', 'failing'])
    .nullable()
    .describe('`gone`: the endpoint responded with 410. `failing`: no delivery has succeeded for days.'),
  description,
  ordered,
  retry_policy: retryPolicy,
  rate_limit: rateLimit,
  headers: headers.describe('Custom headers of every request, without the secret ones.'),
  secret_headers: secretHeaders,
  timeout,
  signature_alias: signatureAlias,
  filter: webhookFilter.nullable().describe('Null: all events.'),
  health,
  client_certificate: z
    .strictObject({ subject: z.string(), fingerprint_sha256: z.string(), expires_at: shownTime })
    .nullable()
    .describe('Certificate for mutual TLS with the endpoint.')
    .meta({ id: 'WebhookClientCertificate' }),
  previous_secret_expires_at: shownTime
    .nullable()
    .describe('Deliveries are also signed with the previous secret until this time. Null: with one secret.'),
  created_at: shownTime,
  updated_at: shownTime,
};

export const webhook = z.strictObject(fields).meta({ id: 'Webhook' });
export const webhookList = listOf(webhook, {
  total: z.int().min(0).nullable().describe('Exact number of webhooks; null if the list is filtered.'),
}).meta({ id: 'WebhookList' });
export const oneWebhook = z.strictObject({ data: webhook });

const newWebhook = z.strictObject({ ...fields, secret: newSecret }).meta({ id: 'CreatedWebhook' });
export const oneNewWebhook = z.strictObject({ data: newWebhook });

const rotatedSecret = z
  .strictObject({
    id: webhookId,
    secret: newSecret,
    previous_secret_expires_at: shownTime.nullable().describe('Null without an overlap.'),
  })
  .meta({ id: 'RotatedWebhookSecret' });
export const oneRotatedSecret = z.strictObject({ data: rotatedSecret });

/** A webhook, without its secret. */
export type Webhook = z.infer<typeof webhook>;

/** A new webhook with its secret; without it in a stored response to another caller. */
export type NewWebhook = z.infer<typeof newWebhook>;

/** The secret that replaced another one. */
export type RotatedSecret = z.infer<typeof rotatedSecret>;

/** A webhook with its full health. */
export interface FullWebhook extends Webhook {
  readonly health: FullHealth;
}
