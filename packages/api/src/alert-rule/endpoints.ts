import { RmsError } from '@rms/base/errors';
import { shownText } from '@rms/net/http';
import type { AlertKind, Rule } from '@rms/proto/rms/alerts/v1/alert_pb';
import { z } from 'zod';
import { alertsOf } from '../backend.ts';
import { defineEndpoint, type OneObject, oneJson, oneResponse, replayedHeader } from '../endpoint.ts';
import { listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toDuration } from '../times.ts';
import { alertKindMessages, alertRuleDocument, testEmailDocument } from './document.ts';
import { alertRuleList, oneAlertRule, oneRuleTest, updateAlertRuleBody } from './schema.ts';

const listAlertRules = defineEndpoint({
  method: 'get',
  path: '/v1/alert_rules',
  operationId: 'listAlertRules',
  summary: 'List alert rules',
  description: 'Every environment has one rule of each kind.',
  tag: 'Alerts',
  permission: 'alerts:read',
  query: z.strictObject(pageQuery),
  success: { status: 200, description: 'A page of rules.', schema: alertRuleList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const pageSize = pageSizeOf(query);
    const page = await alertsOf(backend).listRules(
      { workspaceId, environment, pageSize, pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    return listResponse(
      page.rules.map((rule) => JSON.stringify(alertRuleDocument(rule))),
      { ...page, pageSize },
      url(),
      query,
    );
  },
});

const getAlertRule = defineEndpoint({
  method: 'get',
  path: '/v1/alert_rules/{kind}',
  operationId: 'getAlertRule',
  summary: 'Get an alert rule',
  tag: 'Alerts',
  permission: 'alerts:read',
  conditional: true,
  success: { status: 200, description: 'The rule.', schema: oneAlertRule },
  async handle({ context, id, tenant, backend, signal }) {
    const kind = kindOf(id);
    const { workspaceId, environment } = tenant;
    const { rule } = await alertsOf(backend).getRule(
      { workspaceId, environment, kind },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneRuleOf(rule));
  },
});

const updateAlertRule = defineEndpoint({
  method: 'put',
  path: '/v1/alert_rules/{kind}',
  operationId: 'updateAlertRule',
  summary: 'Change an alert rule',
  description:
    'Omitted fields keep their values. A recipient that is added and is not a member of the workspace is asked by ' +
    'email to confirm, at most once a day.',
  tag: 'Alerts',
  permission: 'alerts:write',
  conditional: true,
  body: updateAlertRuleBody,
  success: { status: 200, description: 'The changed rule.', schema: oneAlertRule },
  async handle({ context, id, body, expectedVersions, tenant, backend }) {
    const kind = kindOf(id);
    const { workspaceId, environment } = tenant;
    const { enabled, threshold, window, minimum, recipients, to_owners: toOwners, channels, unsubscribed } = body;
    const { rule } = await alertsOf(backend).updateRule(
      {
        workspaceId,
        environment,
        kind,
        expectedVersions,
        ...(enabled === undefined ? {} : { enabled }),
        ...(threshold == null ? {} : { threshold }),
        ...(window == null ? {} : { window: toDuration(window) }),
        ...(minimum == null ? {} : { minimum: BigInt(minimum) }),
        ...(recipients === undefined ? {} : { recipients: { addresses: recipients } }),
        ...(toOwners === undefined ? {} : { toOwners }),
        ...(channels === undefined ? {} : { channels: { ids: channels } }),
        ...(unsubscribed === undefined ? {} : { unsubscribed: { addresses: unsubscribed } }),
      },
      { context: context() },
    );
    return oneResponse(200, oneRuleOf(rule));
  },
});

/** Longer than the 8 seconds that alerts waits for the mail server. */
const timeoutMs = 15_000;

const testAlertRule = defineEndpoint({
  method: 'post',
  path: '/v1/alert_rules/{kind}/test',
  operationId: 'testAlertRule',
  summary: 'Send a test email to the recipients of a rule',
  description:
    'Also if the rule is disabled. The response waits for the first reply of the mail server, for at most 8 seconds.',
  tag: 'Alerts',
  permission: 'alerts:write',
  idempotent: true,
  success: { status: 200, description: 'The recipients, and the state of each email.', schema: oneRuleTest },
  async handle({ context, id, tenant, idempotencyKey, backend }) {
    const kind = kindOf(id);
    const { workspaceId, environment } = tenant;
    const { addresses, emails, replayed } = await alertsOf(backend).testRule(
      { workspaceId, environment, kind, idempotencyKey },
      { context: context(), timeoutMs },
    );
    const json = oneJson(JSON.stringify({ addresses, emails: emails.map(testEmailDocument) }));
    return { status: 200, json, headers: replayedHeader(replayed) };
  },
});

const maxShownLength = 64;

/** Returns the kind in a path. Throws `not_found` for an unknown one. */
function kindOf(text: string): AlertKind {
  const name = alertKindMessages.names.find((candidate) => candidate === text);
  if (name) return alertKindMessages.toValue(name);
  const kinds = alertKindMessages.names.join(', ');
  throw new RmsError('not_found', {
    message: `There is no alert rule "${shownText(text, maxShownLength)}". Rules: ${kinds}.`,
  });
}

function oneRuleOf(rule: Rule | undefined): OneObject {
  if (!rule) throw new Error('alerts returned no rule');
  return { json: JSON.stringify(alertRuleDocument(rule)), version: rule.version };
}

export const alertRuleEndpoints = [listAlertRules, getAlertRule, updateAlertRule, testAlertRule];
