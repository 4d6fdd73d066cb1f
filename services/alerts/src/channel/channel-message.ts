import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { ChannelType as TypeMessage } from '@rms/proto/rms/alerts/v1/alert_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { Channel, ChannelType } from './channel.ts';

export const channelTypeNames: EnumNames<ChannelType, TypeMessage> = enumNames(TypeMessage);

/**
 * Converts a channel to rms.alerts.v1.Channel.
 * @param unconfirmed addresses that have not confirmed, in lower case
 */
export function toChannelMessage(channel: Channel, unconfirmed: ReadonlySet<string>) {
  const { id, type, name, addresses, url, hint, version, createdAt, updatedAt } = channel;
  return {
    id,
    type: channelTypeNames.toValue(type),
    name,
    addresses: [...addresses],
    url,
    hint,
    unconfirmed: addresses.filter((address) => unconfirmed.has(address.toLowerCase())),
    version: BigInt(version),
    createTime: timestampFromDate(createdAt),
    updateTime: timestampFromDate(updatedAt),
  };
}
