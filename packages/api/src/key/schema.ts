import { maxRequestLimit, maxRollOverlapSeconds } from '@rms/base/api-key';
import { keyPermissions, keyScopes } from '@rms/base/roles';
import { z } from 'zod';
import { seconds, shownTime, text, timeInput } from '../field-schemas.ts';
import { listOf, noTotal } from '../list.ts';

export const statusNames = ['active', 'expired', 'revoked', 'rolled'] as const;

const allowedIpsLimit = 100;
export const defaultOverlapSeconds = 86_400;

const name = text(1, 100).describe('Human-readable name.');
const scope = z
  .enum(keyScopes)
  .describe('`read` ⊂ `write` ⊂ `admin`. A `restricted` key has only the permissions that it lists.');
const permissions = z
  .array(z.enum(keyPermissions))
  .max(keyPermissions.length)
  .describe('Permissions of a `restricted` key. `write` includes `read`. Empty for every other scope.')
  .meta({ examples: [['deliveries:read', 'webhooks:read']] });
const allowedIps = z
  .array(z.string().max(64))
  .max(allowedIpsLimit)
  .describe('IP addresses or CIDRs that may use the key. Empty: any address.')
  .meta({ examples: [['192.0.2.0/24']] });
const rateLimit = z
  .int()
  .min(1)
  .max(maxRequestLimit)
  .nullable()
  .describe('Requests per window. It can only lower the limit of the plan. Null: the limit of the plan.');

const expiry = timeInput.nullable().describe('Time from which the key is rejected. Null: never.');

export const createKeyBody = z
  .strictObject({
    name,
    scope,
    permissions: permissions.nullish(),
    expires_at: expiry.optional(),
    allowed_ips: allowedIps.nullish(),
    rate_limit: rateLimit.optional(),
  })
  .meta({ id: 'CreateApiKey', example: { name: 'ci-deploy', scope: 'write' } });

export const updateKeyBody = z
  .strictObject({
    name: name.optional(),
    allowed_ips: allowedIps.nullish(),
    rate_limit: rateLimit.optional(),
    expires_at: expiry
      .optional()
      .describe('Time from which the key is rejected. Null: never. It cannot change once the key is not valid.'),
  })
  .meta({ id: 'UpdateApiKey', example: { allowed_ips: ['192.0.2.0/24'] } });

export const rollKeyBody = z
  .strictObject({
    overlap: seconds(0, maxRollOverlapSeconds)
      .optional()
      .describe('Seconds for which the old key remains valid.')
      .meta({ override: { default: defaultOverlapSeconds } }),
  })
  .meta({ id: 'RollApiKey', example: { overlap: 3_600 } });

const fields = {
  id: z.string().meta({ pattern: '^key_[0-9a-z]+$', examples: ['key_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  type: z.literal('api_key'),
  name,
  scope,
  permissions,
  environment: z.enum(['live', 'sandbox']),
  hint: z
    .string()
    .describe('First and last characters of the key, to recognize it.')
    .meta({ examples: ['sk_live_Ab3d…yz12'] }),
  status: z
    .enum(statusNames)
    .describe(
      'A `rolled` key has been replaced by `rolled_to`. It is accepted until `overlap_ends_at`, and `expired` once ' +
        '`expires_at` has passed.',
    ),
  allowed_ips: allowedIps,
  rate_limit: rateLimit,
  expires_at: shownTime.nullable(),
  created_at: shownTime,
  created_by: z
    .string()
    .nullable()
    .describe('`key:` or `user:` with an ID, `operator:` with a name, or `system`. Null: unknown.')
    .meta({ examples: ['user:usr_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  created_by_name: z
    .string()
    .nullable()
    .describe('Email address of the user, name of the key or of the operator. Null: unknown, or deleted.')
    .meta({ examples: ['ann@example.com'] }),
  last_used_at: shownTime.nullable().describe('Updated a few seconds after each use.'),
  last_used_ip: z.string().nullable(),
  last_refusal: z
    .strictObject({ refused_at: shownTime, error_code: z.string().meta({ examples: ['api_key_expired'] }) })
    .nullable()
    .describe('Most recent request that was refused because of the key: 401, 403 or 429. Null: none is recorded.'),
  revoked_at: shownTime.nullable(),
  rolled_at: shownTime.nullable(),
  rolled_to: z.string().nullable().describe('ID of the key that replaced this one.'),
  overlap_ends_at: shownTime.nullable().describe('Time from which a rolled key is rejected. Null: it was not rolled.'),
};

export const key = z.strictObject(fields).meta({ id: 'ApiKey' });
export const keyList = listOf(key, noTotal).meta({ id: 'ApiKeyList' });

export const fullKey = z
  .strictObject({
    ...fields,
    clients: z
      .array(
        z.strictObject({
          address: z.string(),
          user_agent: z.string(),
          last_used_at: shownTime,
          requests: z.int().min(0),
        }),
      )
      .describe('Most recent combinations of address and user agent, the latest first; at most 50.'),
  })
  .meta({ id: 'ApiKeyWithClients' });

export const oneFullKey = z.strictObject({ data: fullKey });

export const newKey = z
  .strictObject({
    ...fields,
    key: z
      .string()
      .meta({
        pattern: '^sk_(live|test)_',
        description: 'The value. Shown only once, to the API key that sent the request.',
        examples: ['sk_live_Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z000000'],
      })
      .optional(),
  })
  .meta({ id: 'CreatedApiKey' });

export const oneNewKey = z.strictObject({ data: newKey });

/** An API key, without its value. */
export type Key = z.infer<typeof key>;

/** An API key with its recent clients. */
export type FullKey = z.infer<typeof fullKey>;

/** A new API key with its value; without it in a stored response to another caller. */
export type NewKey = z.infer<typeof newKey>;
