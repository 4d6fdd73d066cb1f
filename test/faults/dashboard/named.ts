import { randomInt } from 'node:crypto';
import type { Owned } from '../rpc/owned.ts';
import { idempotencyKey } from '../rpc/owned.ts';

/** What a page could name of somebody else's: ids, cursors, keys against repeats. */
export interface Named {
  readonly key: string;
  readonly webhook: string;
  readonly delivery: string;
  readonly event: string;
  readonly replay: string;
  readonly resource: string;
  readonly request: string;
  readonly user: string;
  readonly email: string;
  readonly invitation: string;
  readonly session: string;
  readonly idempotencyKey: string;
  readonly resourceCursor: string;
  readonly webhookCursor: string;
  readonly deliveryCursor: string;
  readonly auditCursor: string;
}

/** What the owner has. */
export function namesOf(owned: Owned, session: string): Named {
  return {
    key: owned.keyId,
    webhook: owned.webhookId,
    delivery: owned.deliveryId,
    event: owned.eventId,
    replay: owned.replayId,
    resource: owned.resourceId,
    request: owned.requestId,
    user: owned.userId,
    email: owned.userEmail,
    invitation: owned.invitationId,
    session,
    idempotencyKey,
    resourceCursor: owned.pageTokens.resources,
    webhookCursor: owned.pageTokens.webhooks,
    deliveryCursor: owned.pageTokens.deliveries,
    auditCursor: owned.pageTokens.audit,
  };
}

/** Names of the same form, behind which there is nothing. */
export function namesOfNothing(named: Named): Named {
  const entries = Object.entries(named).map(([name, value]) => [name, name === 'email' ? nobody() : changed(value)]);
  return Object.fromEntries(entries) as unknown as Named;
}

const nobody = () => `nobody-${randomInt(2 ** 40).toString(36)}@example.com`;

/** Other digits and letters at the end, each in place of one that may stand there. */
function changed(value: string): string {
  const kept = Math.max(0, value.length - 12);
  const end = value.slice(kept).replace(/[0-9a-z]/gi, (one) => (/\d/.test(one) ? `${randomInt(10)}` : other(one)));
  const made = value.slice(0, kept) + end;
  return made === value ? changed(value) : made;
}

function other(letter: string): string {
  const made = 'abcdefghjkmnpqrstvwxyz'[randomInt(22)] ?? 'a';
  return letter === letter.toUpperCase() ? made.toUpperCase() : made;
}
