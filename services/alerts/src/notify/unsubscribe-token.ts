import { type Keys, openToken, signToken } from '@rms/base/secrets';
import type { Tenant } from '@rms/base/tenant';
import { type AlertKind, alertKinds, isEmailAddress } from '../rule/rule.ts';

/** Payload of the tokens of an unsubscribe link: one recipient and alert rule. */
export interface Unsubscription extends Tenant {
  readonly kind: AlertKind;
  readonly address: string;
}

type Payload = [workspaceId: string, environment: Tenant['environment'], kind: string, address: string];

const unsubscribing = 'unsubscribe';
const resubscribing = 'resubscribe';

/** Lifetime of a token that undoes an unsubscription, in milliseconds. */
export const resubscribeLifeMs = 30 * 24 * 3_600_000;

/** Returns a signed token that unsubscribes this recipient from the rule. It never expires. */
export function makeUnsubscribeToken(keys: Keys, unsubscription: Unsubscription): string {
  return signToken(keys, JSON.stringify(payloadOf(unsubscription)), unsubscribing);
}

/** Verifies a token. Returns undefined if it is invalid. */
export function readUnsubscribeToken(keys: Keys, token: string): Unsubscription | undefined {
  const payload = openToken(keys, token, unsubscribing);
  return payload === undefined ? undefined : toUnsubscription(JSON.parse(payload) as Payload);
}

/** Returns a signed token that undoes the unsubscription of this recipient. */
export function makeResubscribeToken(keys: Keys, unsubscription: Unsubscription, nowMs: number): string {
  return signToken(keys, JSON.stringify([nowMs + resubscribeLifeMs, ...payloadOf(unsubscription)]), resubscribing);
}

/** Verifies a token. Returns undefined if it is invalid or has expired. */
export function readResubscribeToken(keys: Keys, token: string, nowMs: number): Unsubscription | undefined {
  const payload = openToken(keys, token, resubscribing);
  if (payload === undefined) return undefined;
  const [expiresAtMs, ...rest] = JSON.parse(payload) as [number, ...Payload];
  return nowMs < expiresAtMs ? toUnsubscription(rest) : undefined;
}

function payloadOf({ workspaceId, environment, kind, address }: Unsubscription): Payload {
  return [workspaceId, environment, kind, address];
}

function toUnsubscription([workspaceId, environment, name, address]: Payload): Unsubscription | undefined {
  const kind = alertKinds.find((one) => one === name);
  return kind && isEmailAddress(address) ? { workspaceId, environment, kind, address } : undefined;
}
