import { checkVersion, type FieldViolation, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import type { SecretBox } from '@rms/base/secrets';
import { makeSecret } from '@rms/base/signature';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { checkUrl } from '@rms/net/guarded-http';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import { type AlertsService, CreateChannelResponseSchema } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import {
  type Channel,
  type ChannelFields,
  type ChannelType,
  checkChannel,
  hintOf,
  maxChannels,
} from '../channel/channel.ts';
import { channelChanges, channelEntry } from '../channel/channel-audit.ts';
import { channelTypeNames, toChannelMessage } from '../channel/channel-message.ts';
import { countChannels, findChannel, writeChannel } from '../channel/channel-queries.ts';
import { refuse } from '../refuse.ts';
import { channelContext } from '../sealed/contexts.ts';
import { type ChannelParts, found, type HandlerParts } from './handler.ts';

export function createChannel(parts: ChannelParts): Handlers<typeof AlertsService>['createChannel'] {
  const { idempotency } = parts;
  return async (request, context) => {
    const tenant = toTenant(request);
    const type = channelTypeNames.toName(request.type);
    if (!type) refuse('type', `must be one of ${channelTypeNames.names.join(', ')}`);
    const given: ChannelFields = {
      name: request.name || undefined,
      addresses: request.addresses.length > 0 ? request.addresses : undefined,
      url: request.url || undefined,
      routingKey: request.routingKey || undefined,
    };
    const fields = await checked(parts, type, given, true);
    const outside = await outsideOf(parts, tenant, fields);
    const actor = actorOf(context);
    const once = {
      tenant: () => tenant,
      operation: 'create alert channel',
      key: request.idempotencyKey,
      content: [type, fields],
    };
    const { response, replayed } = await idempotency.once(once, CreateChannelResponseSchema, async (tx) => {
      // Serializes the creation of channels of a tenant, so that the limit holds.
      await tx.query("select pg_advisory_xact_lock(hashtextextended('alert channels of ' || $1 || $2, 0))", [
        tenant.workspaceId,
        tenant.environment,
      ]);
      if ((await countChannels(tx, tenant)) >= maxChannels) {
        throw new RmsError('conflict', { message: `An environment has at most ${maxChannels} alert channels.` });
      }
      const now = new Date();
      const secret = type === 'webhook' ? makeSecret() : undefined;
      const blank = { addresses: [], url: '', secret: undefined, hint: '', version: 0, createdAt: now, updatedAt: now };
      const empty: Channel = { ...tenant, id: newId('chn'), type, name: '', ...blank };
      const channel = changed(parts.box, empty, fields, secret);
      await writeChannel(tx, channel);
      await ask(parts, tx, tenant, channel.addresses, outside);
      const changes = channelChanges(undefined, channel);
      await appendAudit(tx, context, [channelEntry(channel, { action: 'alert_channel.created', changes })]);
      return { channel: toChannelMessage(channel, outside.addresses), secret: secret ?? '', createdBy: actor };
    });
    parts.onEmails();
    // A secret is shown once. Another API key must not obtain it by repeating an Idempotency-Key.
    return { ...response, secret: response.createdBy === actor ? response.secret : '', replayed };
  };
}

/** Changes the fields that are set. Throws `precondition_failed` if the channel has none of the expected versions. */
export function updateChannel(parts: ChannelParts): Handlers<typeof AlertsService>['updateChannel'] {
  const { pool } = parts;
  return async (request, context) => {
    const tenant = toTenant(request);
    const { id, name, url, routingKey, expectedVersions } = request;
    const { type } = found(await findChannel(pool, tenant, id), 'alert channel', id);
    const given = { name, url, routingKey, addresses: request.addresses?.addresses };
    const fields = await checked(parts, type, given, false);
    const outside = await outsideOf(parts, tenant, fields);
    const channel = await inTransaction(pool, async (tx) => {
      const before = found(await findChannel(tx, tenant, id, 'lock'), 'alert channel', id);
      checkVersion(before.version, expectedVersions);
      const after = changed(parts.box, before, fields, undefined);
      await writeChannel(tx, after);
      const old = new Set(before.addresses.map((address) => address.toLowerCase()));
      const added = after.addresses.filter((address) => !old.has(address.toLowerCase()));
      await ask(parts, tx, tenant, added, outside);
      const changes = channelChanges(before, after);
      await appendAudit(tx, context, [channelEntry(after, { action: 'alert_channel.updated', changes })]);
      return after;
    });
    parts.onEmails();
    return {
      channel: toChannelMessage(channel, await parts.recipients.unconfirmedOf(tenant.workspaceId, channel.addresses)),
    };
  };
}

/** Also removes the channel from its rules. Its queued messages fail. */
export function deleteChannel({ pool }: Pick<HandlerParts, 'pool'>): Handlers<typeof AlertsService>['deleteChannel'] {
  return async (request, context) => {
    const tenant = toTenant(request);
    await inTransaction(pool, async (tx) => {
      const channel = found(await findChannel(tx, tenant, request.id, 'lock'), 'alert channel', request.id);
      checkVersion(channel.version, request.expectedVersions);
      const values = [tenant.workspaceId, tenant.environment, channel.id];
      await tx.query('delete from alerts.channels where workspace_id = $1 and environment = $2 and id = $3', values);
      const { rows } = await tx.query<{ kind: string }>(
        `update alerts.rules set channels = array_remove(channels, $3), version = version + 1
          where workspace_id = $1 and environment = $2 and $3 = any(channels) returning kind`,
        values,
      );
      const details = { rules: rows.map(({ kind }) => kind).sort() };
      const changes = channelChanges(channel, undefined);
      await appendAudit(tx, context, [channelEntry(channel, { action: 'alert_channel.deleted', changes, details })]);
    });
    return {};
  };
}

/** Validates a request's fields, and normalizes its URL. Throws `invalid_request`. */
async function checked(
  { egress }: Pick<ChannelParts, 'egress'>,
  type: ChannelType,
  given: ChannelFields,
  isNew: boolean,
): Promise<ChannelFields> {
  const addresses = given.addresses && [
    ...new Map(given.addresses.map((one) => [one.trim().toLowerCase(), one.trim()])).values(),
  ];
  const fields = { ...given, addresses };
  const violations: FieldViolation[] = checkChannel(type, fields, isNew);
  if (violations.length > 0 || fields.url === undefined) {
    if (violations.length > 0) throw new RmsError('invalid_request', { details: violations });
    return fields;
  }
  const { url, violations: details } = await checkUrl(fields.url, egress);
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { ...fields, url };
}

/** Returns the channel with the given fields and the next version. `signing`: a new signing secret. */
function changed(box: SecretBox, before: Channel, fields: ChannelFields, signing: string | undefined): Channel {
  const { name = before.name, addresses = before.addresses, url, routingKey } = fields;
  const shown = before.type === 'slack' ? url : routingKey;
  const secret = signing ?? shown;
  return {
    ...before,
    name,
    addresses,
    url: before.type === 'webhook' ? (url ?? before.url) : '',
    secret: secret === undefined ? before.secret : box.seal(secret, channelContext(before)),
    hint: shown === undefined ? before.hint : hintOf(shown),
    version: before.version + 1,
    updatedAt: new Date(),
  };
}

/** Addresses outside the workspace that have not confirmed, in lower case, and the workspace's name. */
interface Outside {
  readonly addresses: ReadonlySet<string>;
  readonly workspaceName: string;
}

async function outsideOf(
  { recipients, workspaces }: Pick<ChannelParts, 'recipients' | 'workspaces'>,
  { workspaceId }: Tenant,
  { addresses: given = [] }: ChannelFields,
): Promise<Outside> {
  const addresses = await recipients.unconfirmedOf(workspaceId, given);
  return { addresses, workspaceName: addresses.size > 0 ? await workspaces.nameOf(workspaceId) : '' };
}

/** Asks the added addresses that are outside the workspace to confirm. */
async function ask(
  { recipients }: Pick<ChannelParts, 'recipients'>,
  tx: Queryable,
  { workspaceId }: Tenant,
  added: readonly string[],
  { addresses, workspaceName }: Outside,
): Promise<void> {
  const toConfirm = added.filter((address) => addresses.has(address.toLowerCase()));
  await recipients.ask(tx, { id: workspaceId, name: workspaceName }, toConfirm);
}
