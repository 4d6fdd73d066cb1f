import { type Keys, openToken, signToken } from '@rms/secrets';
import type { Tenant } from '@rms/tenant';
import { type AlertKind, alertKinds, isEmailAddress } from '../rule/rule.ts';

/** Payload of an unsubscribe link: one recipient and alert rule. */
export interface Unsubscription extends Tenant {
  readonly kind: AlertKind;
  readonly address: string;
}

const binding = 'unsubscribe';

/** Returns a signed token for this recipient and rule. It never expires. */
export function makeUnsubscribeToken(keys: Keys, { workspaceId, environment, kind, address }: Unsubscription): string {
  return signToken(keys, JSON.stringify([workspaceId, environment, kind, address]), binding);
}

/** Verifies a token. Returns undefined if it is invalid. */
export function readUnsubscribeToken(keys: Keys, token: string): Unsubscription | undefined {
  const payload = openToken(keys, token, binding);
  if (payload === undefined) return undefined;
  const [workspaceId, environment, name, address] = JSON.parse(payload) as [
    string,
    Tenant['environment'],
    string,
    string,
  ];
  const kind = alertKinds.find((one) => one === name);
  return kind && isEmailAddress(address) ? { workspaceId, environment, kind, address } : undefined;
}
