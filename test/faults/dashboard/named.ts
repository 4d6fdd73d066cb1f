import { randomInt } from 'node:crypto';
import type { Owned } from '../rpc/owned.ts';

/** Names of another user's objects that a request can contain: ids and cursors. */
export interface Named {
  readonly key: string;
  readonly webhook: string;
  readonly delivery: string;
  readonly event: string;
  readonly replay: string;
  readonly incident: string;
  readonly channel: string;
  readonly resource: string;
  readonly request: string;
  readonly user: string;
  readonly email: string;
  readonly invitation: string;
  readonly session: string;
  readonly resourceCursor: string;
  readonly webhookCursor: string;
  readonly deliveryCursor: string;
  readonly auditCursor: string;
}

/** Names of the owner's objects. */
export function namesOf(owned: Owned, session: string): Named {
  return {
    key: owned.keyId,
    webhook: owned.webhookId,
    delivery: owned.deliveryId,
    event: owned.eventId,
    replay: owned.replayId,
    incident: owned.incidentId,
    channel: owned.channelId,
    resource: owned.resourceId,
    request: owned.requestId,
    user: owned.userId,
    email: owned.userEmail,
    invitation: owned.invitationId,
    session,
    resourceCursor: owned.pageTokens.resources,
    webhookCursor: owned.pageTokens.webhooks,
    deliveryCursor: owned.pageTokens.deliveries,
    auditCursor: owned.pageTokens.audit,
  };
}

/** Names of the same form that match no object. */
export function namesOfNothing(named: Named): Named {
  const entries = Object.entries(named).map(([name, value]) => [name, name === 'email' ? noUser() : changed(value)]);
  return Object.fromEntries(entries) as unknown as Named;
}

const noUser = () => `nobody-${randomInt(2 ** 40).toString(36)}@example.com`;

/** Replaces the last letters and digits with random ones that are valid in ids. */
function changed(value: string): string {
  const kept = Math.max(0, value.length - 12);
  const end = value.slice(kept).replace(/[0-9a-z]/gi, (one) => (/\d/.test(one) ? `${randomInt(10)}` : other(one)));
  const created = value.slice(0, kept) + end;
  return created === value ? changed(value) : created;
}

function other(letter: string): string {
  const created = 'abcdefghjkmnpqrstvwxyz'[randomInt(22)] ?? 'a';
  return letter === letter.toUpperCase() ? created.toUpperCase() : created;
}
