import { type Keys, openToken, signToken } from '@rms/base/secrets';
import { isEmailAddress } from '../rule/rule.ts';

/** Payload of a confirmation link: an address, and the workspace that it receives alerts of after the confirmation. */
export interface Confirmation {
  readonly workspaceId: string;
  readonly address: string;
}

const binding = 'confirm recipient';

/** Lifetime of a confirmation link, in seconds. */
export const confirmationLifeSeconds = 7 * 24 * 3_600;

/** Returns a signed token for this address and workspace. */
export function makeConfirmationToken(keys: Keys, { workspaceId, address }: Confirmation, nowMs: number): string {
  return signToken(keys, JSON.stringify([workspaceId, address, nowMs + confirmationLifeSeconds * 1_000]), binding);
}

/** Verifies a token. Returns undefined if it is invalid or has expired. */
export function readConfirmationToken(keys: Keys, token: string, nowMs: number): Confirmation | undefined {
  const payload = openToken(keys, token, binding);
  if (payload === undefined) return undefined;
  const [workspaceId, address, expiresAtMs] = JSON.parse(payload) as [string, string, number];
  return expiresAtMs > nowMs && isEmailAddress(address) ? { workspaceId, address } : undefined;
}
