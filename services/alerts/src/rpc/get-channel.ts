import { toTenant } from '@rms/base/tenant';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import { toChannelMessage } from '../channel/channel-message.ts';
import { findChannel } from '../channel/channel-queries.ts';
import type { Recipients } from '../recipient/recipients.ts';
import { found, type HandlerParts } from './handler.ts';

export function getChannel(
  { pool }: Pick<HandlerParts, 'pool'>,
  recipients: Pick<Recipients, 'unconfirmedOf'>,
): Handlers<typeof AlertsService>['getChannel'] {
  return async (request) => {
    const channel = found(await findChannel(pool, toTenant(request), request.id), 'alert channel', request.id);
    return {
      channel: toChannelMessage(channel, await recipients.unconfirmedOf(channel.workspaceId, channel.addresses)),
    };
  };
}
