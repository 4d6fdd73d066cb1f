import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { environmentOf } from '@rms/tenant';
import { z } from 'zod';
import { timeOf } from '../documents/text.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Lists the audit log of the workspace, newest first. Entries name their environment. */
export const listAuditEntries = tenantEndpoint({
  access: 'audit.read',
  method: 'get',
  path: '/audit',
  query: z.strictObject({
    target: z.string().max(200).optional(),
    action: z.string().max(100).optional(),
    since: z.iso.datetime().optional(),
    cursor: z.string().max(2_000).optional(),
  }),
  async handle({ backend, tenant: { workspaceId }, query, context, signal }) {
    const { entries, nextPageToken } = await backend.audit.listAuditEntries(
      {
        workspaceId,
        targetId: query.target ?? '',
        action: query.action ?? '',
        ...(query.since ? { sinceTime: timestampFromMs(Date.parse(query.since)) } : {}),
        pageSize: 50,
        pageToken: query.cursor ?? '',
      },
      { context, signal: signal() },
    );
    const data = entries.map((entry) => ({
      id: entry.id,
      time: timeOf(entry.time),
      environment: environmentOf(entry.environment) ?? null,
      actor: entry.actor,
      address: entry.address || null,
      request_id: entry.requestId || null,
      action: entry.action,
      target_id: entry.targetId,
      details_json: entry.detailsJson,
    }));
    return { data, next: nextPageToken || null };
  },
});
