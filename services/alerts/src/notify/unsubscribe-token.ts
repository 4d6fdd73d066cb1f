import { type Keys, openToken, signToken } from '@rms/secrets';
import { type AlertKind, alertKinds, isMailAddress } from '../rule/rule.ts';
import type { Tenant } from '../tenant.ts';

/** What a link out of a mail takes off: one address from one rule. */
export interface Unsubscription extends Tenant {
  readonly kind: AlertKind;
  readonly address: string;
}

const binding = 'unsubscribe';

/** A token that can't be made without the key, and is good for this one address and rule, for good. */
export function makeUnsubscribeToken(keys: Keys, { workspaceId, environment, kind, address }: Unsubscription): string {
  return signToken(keys, JSON.stringify([workspaceId, environment, kind, address]), binding);
}

/** Undefined: it is none of ours. */
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
  return kind && isMailAddress(address) ? { workspaceId, environment, kind, address } : undefined;
}
