import { type Channel, ChannelType } from '@rms/proto/rms/alerts/v1/alert_pb';
import type { TestChannelResponse } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { testEmailDocument } from '../alert-rule/document.ts';
import { presentTimeOf } from '../times.ts';
import type { AlertChannel, AlertChannelTest } from './schema.ts';

export const channelTypeMessages = enumNames(ChannelType);

/** Returns the API representation of a channel, without its secrets. */
export function alertChannelDocument(channel: Channel): AlertChannel {
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
export function channelTestDocument(test: TestChannelResponse): AlertChannelTest {
  return {
    delivered: test.delivered,
    status: test.statusCode || null,
    error: test.error || null,
    response_body: test.responseBody || null,
    duration_ms: test.durationMs,
    emails: test.emails.map(testEmailDocument),
  };
}
