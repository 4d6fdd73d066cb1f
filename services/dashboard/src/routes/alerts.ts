import { RmsError } from '@rms/base/errors';
import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { durationFromMs } from '@rms/rpc';
import { z } from 'zod';
import {
  alertKinds,
  emailStatusDocument,
  incidentDocument,
  ruleDocument,
  testEmailDocument,
} from '../documents/alert.ts';
import { tenantEndpoint } from './endpoint.ts';

const address = z.string().max(254);
const maxAddresses = 20;

export const listRules = tenantEndpoint({
  access: 'alerts:read',
  method: 'get',
  path: '/alerts/rules',
  async handle({ backend, tenant, context, signal }) {
    const { rules } = await backend.alerts.listRules(tenant, { context, signal: signal() });
    return { data: rules.map(ruleDocument) };
  },
});

/** Changes the given fields of a rule. */
export const updateRule = tenantEndpoint({
  access: 'alerts:write',
  method: 'patch',
  path: '/alerts/rules/{id}',
  body: z
    .strictObject({
      enabled: z.boolean(),
      threshold: z.number().min(0).max(1e9),
      window_seconds: z.int().min(60).max(86_400),
      minimum: z.int().min(0).max(1e9),
      recipients: z.array(address).max(maxAddresses),
      to_owners: z.boolean(),
      unsubscribed: z.array(address).max(1_000),
    })
    .partial(),
  async handle({ backend, tenant, param, body, context }) {
    const { enabled, threshold, window_seconds: seconds, minimum, recipients, to_owners: toOwners } = body;
    const { rule } = await backend.alerts.updateRule(
      {
        ...tenant,
        kind: kindOf(param('id')),
        ...(enabled === undefined ? {} : { enabled }),
        ...(threshold === undefined ? {} : { threshold }),
        ...(seconds === undefined ? {} : { window: durationFromMs(seconds * 1000) }),
        ...(minimum === undefined ? {} : { minimum: BigInt(minimum) }),
        ...(recipients === undefined ? {} : { recipients: { addresses: recipients } }),
        ...(toOwners === undefined ? {} : { toOwners }),
        ...(body.unsubscribed === undefined ? {} : { unsubscribed: { addresses: body.unsubscribed } }),
      },
      { context },
    );
    if (!rule) throw new Error('alerts returned no rule');
    return ruleDocument(rule);
  },
});

/** Sends a test email to a rule's recipients. */
export const testRule = tenantEndpoint({
  access: 'alerts:write',
  method: 'post',
  path: '/alerts/rules/{id}/test',
  async handle({ backend, tenant, param, context }) {
    const { addresses, emails } = await backend.alerts.testRule({ ...tenant, kind: kindOf(param('id')) }, { context });
    return { addresses, emails: emails.map(testEmailDocument) };
  },
});

/** Returns how many emails of the workspace wait because the SMTP server rejects them, and why. */
export const getEmailStatus = tenantEndpoint({
  access: 'alerts:write',
  method: 'get',
  path: '/email-status',
  async handle({ backend, tenant: { workspaceId }, context, signal }) {
    const status = await backend.alerts.getEmailStatus({ workspaceId }, { context, signal: signal() });
    return emailStatusDocument(status);
  },
});

/** Lists incidents, newest first. */
export const listIncidents = tenantEndpoint({
  access: 'alerts:read',
  method: 'get',
  path: '/alerts/incidents',
  query: z.strictObject({ state: z.enum(['open']).optional(), cursor: z.string().max(2_000).optional() }),
  async handle({ backend, tenant, query, context, signal }) {
    const { incidents, nextPageToken } = await backend.alerts.listIncidents(
      {
        ...tenant,
        state: query.state ? IncidentState.OPEN : IncidentState.UNSPECIFIED,
        kind: AlertKind.UNSPECIFIED,
        pageSize: 50,
        pageToken: query.cursor ?? '',
      },
      { context, signal: signal() },
    );
    return { data: incidents.map(incidentDocument), next: nextPageToken || null };
  },
});

function kindOf(text: string): AlertKind {
  const name = alertKinds.names.find((candidate) => candidate === text);
  if (!name)
    throw new RmsError('not_found', {
      message: `There is no alert rule "${text}". Rules: ${alertKinds.names.join(', ')}.`,
    });
  return alertKinds.toValue(name);
}
