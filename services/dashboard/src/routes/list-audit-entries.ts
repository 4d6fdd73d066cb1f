import { environmentOf, toEnvironmentMessage } from '@rms/base/tenant';
import { timestampFromMs } from '@rms/rpc';
import { z } from 'zod';
import { timeOf } from '../documents/text.ts';
import { tenantEndpoint } from './endpoint.ts';
import { existingTargets } from './existing-targets.ts';

/** Lists the audit log of the workspace, newest first. Entries name their environment. */
export const listAuditEntries = tenantEndpoint({
  access: 'audit:read',
  method: 'get',
  path: '/audit',
  query: z.strictObject({
    target: z.string().max(200).optional(),
    action: z.string().max(100).optional(),
    actor: z.string().max(200).optional(),
    /** Also lists the entries that concern both environments. */
    environment: z.enum(['live', 'sandbox']).optional(),
    since: z.iso.datetime().optional(),
    until: z.iso.datetime().optional(),
    per_page: z.coerce.number().int().min(1).max(1_000).default(50),
    cursor: z.string().max(2_000).optional(),
  }),
  async handle(call) {
    const { backend, tenant, query, context, signal } = call;
    const { workspaceId } = tenant;
    const { entries, nextPageToken } = await backend.audit.listAuditEntries(
      {
        workspaceId,
        targetId: query.target ?? '',
        action: query.action ?? '',
        actor: query.actor ?? '',
        ...(query.environment ? { environment: toEnvironmentMessage(query.environment) } : {}),
        ...(query.since ? { sinceTime: timestampFromMs(Date.parse(query.since)) } : {}),
        ...(query.until ? { untilTime: timestampFromMs(Date.parse(query.until)) } : {}),
        pageSize: query.per_page,
        pageToken: query.cursor ?? '',
      },
      { context, signal: signal() },
    );
    const existing = await existingTargets(call, entries);
    const data = entries.map((entry) => ({
      id: entry.id,
      time: timeOf(entry.time),
      environment: environmentOf(entry.environment) ?? null,
      actor: entry.actor,
      actor_name: entry.actorName || null,
      address: entry.address || null,
      request_id: entry.requestId || null,
      action: entry.action,
      target_id: entry.targetId,
      target_name: entry.targetName || null,
      target_exists: existing.has(entry.targetId),
      changes_json: entry.changesJson || '[]',
      details_json: entry.detailsJson,
    }));
    return { data, next: nextPageToken || null };
  },
});
