import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { z } from 'zod';
import { defineEndpoint } from '../endpoint.ts';
import { listOf, listResponse, noTotal, pageQuery, pageSizeOf } from '../list.ts';
import { text } from '../text-schemas.ts';
import { createdRange, shownTime, timeOf, toTimestamp } from '../time-schemas.ts';

const maxFilterLength = 200;
const fieldValue = 'A string, number or boolean, or a list of strings.';

const entry = z
  .strictObject({
    id: z.string().meta({ pattern: '^aud_[0-9a-z]+$', examples: ['aud_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('audit_entry'),
    action: z.string().meta({ examples: ['key.created'] }),
    actor: z
      .string()
      .describe('`key:` or `user:` with an ID, `operator:` with a name, or `system`.')
      .meta({ examples: ['key:key_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    actor_name: z
      .string()
      .nullable()
      .describe('Name of the key, or email address of the user, at that time. Null: unknown, or `actor` is a name.')
      .meta({ examples: ['ci-deploy'] }),
    target_id: z.string().describe('ID of the changed object, or its name if it has no ID.'),
    target_name: z.string().nullable().describe('Name of the changed object at that time. Null: it has none.'),
    environment: z.enum(['live', 'sandbox']).nullable().describe('Null: the change concerns both environments.'),
    client_ip: z.string().nullable(),
    request_id: z.string().nullable(),
    changes: z
      .array(
        z
          .strictObject({
            field: z.string().meta({ examples: ['url'] }),
            before: z.unknown().describe(`${fieldValue} Null: the field was not set.`),
            after: z.unknown().describe(`${fieldValue} Null: the field is no longer set.`),
          })
          .meta({ id: 'AuditChange' }),
      )
      .describe(
        'Changed fields, at most 100. Secrets are `[secret]`. A value has at most 500 characters, fewer if many fields ' +
          'changed; `…` marks where a value or the list was cut.',
      ),
    details: z
      .record(z.string(), z.unknown())
      .describe('Further facts, such as the method of a sign-in. Never contains secrets.'),
    created_at: shownTime,
  })
  .meta({ id: 'AuditEntry' });

export const listAuditLog = defineEndpoint({
  method: 'get',
  path: '/v1/audit_log',
  operationId: 'listAuditLog',
  summary: 'List the audit log',
  description:
    'Changes in the environment of the key and changes that concern both environments, newest first. Entries that ' +
    'concern both environments (users, members, sign-ins) are left out unless an operator, or a user who is now an admin ' +
    'or owner of the workspace, created the key. With a filter, ' +
    'a page can have fewer items than `per_page`, or none, although `links.next` is set, because each request reads ' +
    'at most 10,000 entries.',
  tag: 'Workspace',
  scope: 'admin',
  permission: 'audit.read',
  query: z.strictObject({
    action: text(1, maxFilterLength)
      .optional()
      .describe('An action such as `key.created`, or a prefix that ends with a dot, such as `key.`.'),
    actor: text(1, maxFilterLength).optional().describe('Only changes by this actor, as in `actor` of an entry.'),
    target_id: text(1, maxFilterLength).optional().describe('Only changes of this object.'),
    ...createdRange,
    ...pageQuery,
  }),
  success: {
    status: 200,
    description: 'A page of audit entries.',
    schema: listOf(entry, noTotal).meta({ id: 'AuditLog' }),
  },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const { created_after: after, created_before: before } = query;
    const { entries, ...page } = await backend.audit.listAuditEntries(
      {
        workspaceId,
        environment,
        action: query.action ?? '',
        actor: query.actor ?? '',
        targetId: query.target_id ?? '',
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
        ...(after === undefined ? {} : { sinceTime: toTimestamp(after) }),
        ...(before === undefined ? {} : { untilTime: toTimestamp(before) }),
      },
      { context: context(), signal: signal() },
    );
    return listResponse(entries.map(entryJson), page, url(), query);
  },
});

const environmentNames: Readonly<Record<Environment, string | null>> = {
  [Environment.UNSPECIFIED]: null,
  [Environment.LIVE]: 'live',
  [Environment.SANDBOX]: 'sandbox',
};

function entryJson(entry: AuditEntry): string {
  return JSON.stringify({
    id: entry.id,
    type: 'audit_entry',
    action: entry.action,
    actor: entry.actor,
    actor_name: entry.actorName || null,
    target_id: entry.targetId,
    target_name: entry.targetName || null,
    environment: environmentNames[entry.environment],
    client_ip: entry.address || null,
    request_id: entry.requestId || null,
    changes: JSON.parse(entry.changesJson || '[]'),
    details: JSON.parse(entry.detailsJson),
    created_at: timeOf(entry.time),
  });
}

export const auditEntryEndpoints = [listAuditLog];
