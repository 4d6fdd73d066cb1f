import { environments } from '@rms/base/tenant';
import { z } from 'zod';
import { shownTime } from '../field-schemas.ts';

const limit = z.int().min(1).nullable();

const objectCount = z
  .strictObject({
    count: z.int().min(0).describe('At most 100,000, even if there are more.'),
    limit: limit.describe('Null: no limit.'),
  })
  .meta({ id: 'ObjectCount', example: { count: 12, limit: 1_000 } });

const workspace = z
  .strictObject({
    id: z.string().meta({ pattern: '^ws_[0-9a-z]+$', examples: ['ws_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('workspace'),
    name: z.string(),
    environment: z.enum(environments).describe('Environment of the key.'),
    plan: z.string().nullable().describe('Null: the limits of the installation apply.'),
    limits: z
      .strictObject({
        requests_per_window: limit.describe('Limit of this key.'),
        workspace_requests_per_window: limit.describe('Limit of all keys of the workspace in this environment.'),
        window_seconds: z.int().min(1),
        requests_per_month: limit.describe('Limit of all keys of the workspace in this environment.'),
      })
      .describe('Limits. Null: no limit.'),
    objects: z
      .strictObject({
        keys: objectCount.describe('Valid keys.'),
        webhooks: objectCount.nullable().describe('Null: unavailable.'),
      })
      .describe('Objects of the workspace in both environments, and how many are allowed.'),
    usage: z
      .strictObject({ requests: z.int().min(0), month_start: shownTime, month_end: shownTime })
      .nullable()
      .describe('Requests of this month (UTC) in this environment. Null if they are not counted, or unavailable.'),
    created_at: shownTime,
    server_time: shownTime.describe('Does not change the ETag.'),
    version: z
      .string()
      .describe('Version of the service.')
      .meta({ examples: ['0.1.0'] }),
  })
  .meta({ id: 'Workspace' });

export const oneWorkspace = z.strictObject({ data: workspace });

/** A workspace in one environment, as a caller sees it. */
export type Workspace = z.infer<typeof workspace>;
