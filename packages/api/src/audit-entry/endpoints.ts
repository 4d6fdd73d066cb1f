import { z } from 'zod';
import { defineEndpoint } from '../endpoint.ts';
import { createdRange, text } from '../field-schemas.ts';
import { listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toTimestamp } from '../times.ts';
import { auditEntryDocument } from './document.ts';
import { auditEntryList } from './schema.ts';

const maxFilterLength = 200;

/** Query parameters that select entries. */
export const auditQuery = {
  action: text(1, maxFilterLength)
    .optional()
    .describe('An action such as `key.created`, or a prefix that ends with a dot, such as `key.`.'),
  actor: text(1, maxFilterLength).optional().describe('Only changes by this actor, as in `actor` of an entry.'),
  target_id: text(1, maxFilterLength).optional().describe('Only changes of this object.'),
  ...createdRange,
  cursor: pageQuery.cursor,
};

/** Returns the RPC request's fields for a query. */
export function auditFilterOf({
  action = '',
  actor = '',
  target_id: targetId = '',
  created_after: after,
  created_before: before,
  cursor: pageToken = '',
}: z.infer<z.ZodObject<typeof auditQuery>>) {
  return {
    ...{ action, actor, targetId, pageToken },
    ...(after === undefined ? {} : { sinceTime: toTimestamp(after) }),
    ...(before === undefined ? {} : { untilTime: toTimestamp(before) }),
  };
}

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
    'at most 100,000 entries.',
  tag: 'Workspace',
  permission: 'audit:read',
  query: z.strictObject({ ...auditQuery, ...pageQuery }),
  success: {
    status: 200,
    description: 'A page of audit entries.',
    schema: auditEntryList,
  },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const { entries, ...page } = await backend.audit.listAuditEntries(
      { workspaceId, environment, ...auditFilterOf(query), pageSize: pageSizeOf(query) },
      { context: context(), signal: signal() },
    );
    return listResponse(
      entries.map((entry) => JSON.stringify(auditEntryDocument(entry))),
      page,
      url(),
      query,
    );
  },
});

export const auditEntryEndpoints = [listAuditLog];
