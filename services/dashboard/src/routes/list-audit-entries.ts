import { auditEntryDocument, auditFilterOf, auditQuery } from '@rms/api';
import { environments, toEnvironmentMessage } from '@rms/base/tenant';
import { z } from 'zod';
import { tenantEndpoint } from './endpoint.ts';
import { existingTargets } from './existing-targets.ts';

/**
 * Lists the audit log of the workspace, newest first: the entries of the API of both environments, each with whether its
 * target has a page. An export reads pages of 1,000 entries.
 */
export const listAuditEntries = tenantEndpoint({
  access: 'audit:read',
  method: 'get',
  path: '/audit_log',
  query: z.strictObject({
    ...auditQuery,
    /** Also lists the entries that concern both environments. */
    environment: z.enum(environments).optional(),
    per_page: z.coerce.number().int().min(1).max(1_000).default(50),
  }),
  async handle(call) {
    const { backend, tenant, query, context, signal } = call;
    const { entries, nextPageToken } = await backend.audit.listAuditEntries(
      {
        workspaceId: tenant.workspaceId,
        ...auditFilterOf(query),
        ...(query.environment ? { environment: toEnvironmentMessage(query.environment) } : {}),
        pageSize: query.per_page,
      },
      { context, signal: signal() },
    );
    const existing = await existingTargets(call, entries);
    const data = entries.map((entry) => ({
      ...auditEntryDocument(entry),
      target_exists: existing.has(entry.targetId),
    }));
    return { data, next: nextPageToken || null };
  },
});
