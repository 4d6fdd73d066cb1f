import { type Channel, ChannelType } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { TestChannelResponse } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { z } from 'zod';
import { testEmailDocument } from '../alert-rule/document.ts';
import { alertsOf } from '../backend.ts';
import { checkId, defineEndpoint, type OneObject, oneJson, oneResponse, replayedHeader } from '../endpoint.ts';
import { listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { presentTimeOf } from '../times.ts';
import {
  type AlertChannel,
  type AlertChannelTest,
  alertChannelList,
  createAlertChannelBody,
  oneAlertChannel,
  oneChannelTest,
  oneNewAlertChannel,
  updateAlertChannelBody,
} from './schema.ts';

const channelTypeMessages = enumNames(ChannelType);

const listAlertChannels = defineEndpoint({
  method: 'get',
  path: '/v1/alert_channels',
  operationId: 'listAlertChannels',
  summary: 'List alert channels',
  description: 'Oldest first.',
  tag: 'Alerts',
  permission: 'alerts:read',
  query: z.strictObject(pageQuery),
  success: { status: 200, description: 'A page of channels.', schema: alertChannelList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const pageSize = pageSizeOf(query);
    const page = await alertsOf(backend).listChannels(
      { workspaceId, environment, pageSize, pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    return listResponse(
      page.channels.map((channel) => JSON.stringify(alertChannelDocument(channel))),
      { ...page, pageSize },
      url(),
      query,
    );
  },
});

const createAlertChannel = defineEndpoint({
  method: 'post',
  path: '/v1/alert_channels',
  operationId: 'createAlertChannel',
  summary: 'Create an alert channel',
  description:
    'A destination of alerts. Rules name it in `channels`. Messages to a `webhook` are signed like deliveries; the ' +
    'response contains the secret, which is shown only once. If another API key repeats the Idempotency-Key, its ' +
    'response does not contain the secret. An environment has at most 50 channels.',
  tag: 'Alerts',
  permission: 'alerts:write',
  idempotent: true,
  conditional: true,
  body: createAlertChannelBody,
  success: { status: 201, description: 'The new channel.', schema: oneNewAlertChannel },
  async handle({ context, body, tenant, idempotencyKey, backend }) {
    const { workspaceId, environment } = tenant;
    const { type, name, addresses = [], url, routing_key: routingKey = '' } = body;
    const { channel, secret, replayed } = await alertsOf(backend).createChannel(
      {
        ...{ workspaceId, environment, name, addresses, url: url ?? '', routingKey, idempotencyKey },
        type: channelTypeMessages.toValue(type),
      },
      { context: context() },
    );
    const one = oneChannelOf(channel);
    const json = secret === '' ? one.json : JSON.stringify({ ...JSON.parse(one.json), secret });
    return oneResponse(201, { ...one, json, stableJson: one.json }, replayed);
  },
});

const getAlertChannel = defineEndpoint({
  method: 'get',
  path: '/v1/alert_channels/{id}',
  operationId: 'getAlertChannel',
  summary: 'Get an alert channel',
  tag: 'Alerts',
  permission: 'alerts:read',
  conditional: true,
  success: { status: 200, description: 'The channel, without its secrets.', schema: oneAlertChannel },
  async handle({ context, id, tenant, backend, signal }) {
    checkId('chn', id);
    const { workspaceId, environment } = tenant;
    const { channel } = await alertsOf(backend).getChannel(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneChannelOf(channel));
  },
});

const updateAlertChannel = defineEndpoint({
  method: 'patch',
  path: '/v1/alert_channels/{id}',
  operationId: 'updateAlertChannel',
  summary: 'Update an alert channel',
  description: 'Changes only the fields in the request. The type cannot change.',
  tag: 'Alerts',
  permission: 'alerts:write',
  conditional: true,
  body: updateAlertChannelBody,
  success: { status: 200, description: 'The updated channel.', schema: oneAlertChannel },
  async handle({ context, id, body, expectedVersions, tenant, backend }) {
    checkId('chn', id);
    const { workspaceId, environment } = tenant;
    const { name, addresses, url, routing_key: routingKey } = body;
    const { channel } = await alertsOf(backend).updateChannel(
      {
        ...{ workspaceId, environment, id, expectedVersions },
        ...(name === undefined ? {} : { name }),
        ...(addresses === undefined ? {} : { addresses: { addresses } }),
        ...(url == null ? {} : { url }),
        ...(routingKey === undefined ? {} : { routingKey }),
      },
      { context: context() },
    );
    return oneResponse(200, oneChannelOf(channel));
  },
});

const deleteAlertChannel = defineEndpoint({
  method: 'delete',
  path: '/v1/alert_channels/{id}',
  operationId: 'deleteAlertChannel',
  summary: 'Delete an alert channel',
  description: 'Rules no longer name it, and its queued messages are not sent.',
  tag: 'Alerts',
  permission: 'alerts:write',
  conditional: true,
  success: { status: 204, description: 'The channel was deleted.' },
  async handle({ context, id, expectedVersions, tenant, backend }) {
    checkId('chn', id);
    const { workspaceId, environment } = tenant;
    await alertsOf(backend).deleteChannel({ workspaceId, environment, id, expectedVersions }, { context: context() });
    return { status: 204 };
  },
});

/** Longer than two requests to PagerDuty of 10 seconds. */
const timeoutMs = 25_000;

const testAlertChannel = defineEndpoint({
  method: 'post',
  path: '/v1/alert_channels/{id}/test',
  operationId: 'testAlertChannel',
  summary: 'Send a test message',
  description:
    'Sends a message immediately and returns the outcome, whether it succeeded or not. It is not sent again. PagerDuty ' +
    'opens an alert, which is resolved.',
  tag: 'Alerts',
  permission: 'alerts:write',
  idempotent: true,
  success: { status: 200, description: 'The outcome.', schema: oneChannelTest },
  async handle({ context, id, tenant, idempotencyKey, backend }) {
    checkId('chn', id);
    const { workspaceId, environment } = tenant;
    const tested = await alertsOf(backend).testChannel(
      { workspaceId, environment, id, idempotencyKey },
      { context: context(), timeoutMs },
    );
    const json = oneJson(JSON.stringify(channelTestDocument(tested)));
    return { status: 200, json, headers: replayedHeader(tested.replayed) };
  },
});

function oneChannelOf(channel: Channel | undefined): OneObject {
  if (!channel) throw new Error('alerts returned no channel');
  return { json: JSON.stringify(alertChannelDocument(channel)), version: channel.version };
}

/** Returns the API representation of a channel, without its secrets. */
function alertChannelDocument(channel: Channel): AlertChannel {
  const type = channelTypeMessages.toName(channel.type);
  if (!type) throw new Error(`alerts returned an unknown type of channel: ${channel.type}`);
  return {
    id: channel.id,
    type,
    name: channel.name,
    addresses: channel.addresses,
    unconfirmed: channel.unconfirmed,
    url: channel.url || null,
    hint: channel.hint || null,
    created_at: presentTimeOf(channel.createTime),
    updated_at: presentTimeOf(channel.updateTime),
  };
}

/** Returns the API representation of a test. */
function channelTestDocument(test: TestChannelResponse): AlertChannelTest {
  return {
    delivered: test.delivered,
    status: test.statusCode || null,
    error: test.error || null,
    response_body: test.responseBody || null,
    duration_ms: test.durationMs,
    emails: test.emails.map(testEmailDocument),
  };
}

export const alertChannelEndpoints = [
  listAlertChannels,
  createAlertChannel,
  getAlertChannel,
  updateAlertChannel,
  deleteAlertChannel,
  testAlertChannel,
];
