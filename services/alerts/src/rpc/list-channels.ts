import { type Tenant, toTenant } from '@rms/base/tenant';
import { cutPage, type PageStart, type Queryable, readPageToken, tokensOf } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Channel } from '../channel/channel.ts';
import { toChannelMessage } from '../channel/channel-message.ts';
import { type ChannelRow, countChannels, toChannel } from '../channel/channel-queries.ts';
import type { Recipients } from '../recipient/recipients.ts';
import { refuse } from '../refuse.ts';
import { type HandlerParts, maxPageSize } from './handler.ts';

/** Returns a page of channels, oldest first. */
export function listChannels(
  { pool, pageTokenKeys }: HandlerParts,
  recipients: Pick<Recipients, 'unconfirmedOf'>,
): Handlers<typeof AlertsService>['listChannels'] {
  return async (request) => {
    const { pageSize, pageToken } = request;
    if (pageSize < 1 || pageSize > maxPageSize) refuse('per_page', `must be 1 to ${maxPageSize}`);
    const tenant = toTenant(request);
    const { workspaceId, environment } = tenant;
    const binding = JSON.stringify(['alert channels', workspaceId, environment]);
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const cut = cutPage(await readPage(pool, tenant, start, pageSize + 1), pageSize, start);
    const addresses = cut.items.flatMap((channel) => channel.addresses);
    const unconfirmed = await recipients.unconfirmedOf(workspaceId, addresses);
    return {
      channels: cut.items.map((channel) => toChannelMessage(channel, unconfirmed)),
      ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
      page: cut.page,
      totalSize: BigInt(await countChannels(pool, tenant)),
    };
  };
}

/** Returns up to `limit` channels after or before `start`, oldest first. */
async function readPage(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  start: PageStart | undefined,
  limit: number,
): Promise<Channel[]> {
  const backwards = start?.direction === 'before';
  const { rows } = await db.query<ChannelRow>(
    `select * from alerts.channels
      where workspace_id = $1 and environment = $2 and ($3::text is null or id ${backwards ? '<' : '>'} $3)
      order by id ${backwards ? 'desc' : 'asc'} limit $4`,
    [workspaceId, environment, start?.keys[0] ?? null, limit],
  );
  const channels = rows.map(toChannel);
  return backwards ? channels.reverse() : channels;
}
