import { randomBytes } from 'node:crypto';
import { createSecretBox } from '@rms/base/secrets';
import { z } from 'zod';

/** Contents of the cookie while the browser signs in with the provider. */
export interface Browser {
  /** Key that only this browser has: it seals the `state` of every visit. */
  readonly key: Buffer;
  /** IDs of the latest completed visits. */
  readonly completed: readonly string[];
}

/** A sign-in that this browser has started. */
export interface Visit {
  readonly id: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Path of the page that the user wants to see. */
  readonly next: string;
  /** ID of the invitation to accept; empty: none is chosen. */
  readonly invitation: string;
}

const keyBytes = 32;
const cookieForm = /^([\w-]{43})((?:\.[\w-]{22})*)$/;
const maxCompleted = 5;
const visitForm = z.strictObject({
  ...{ id: z.string(), nonce: z.string(), codeVerifier: z.string(), next: z.string() },
  invitation: z.string().default(''),
});
const context = { purpose: 'single sign-on', id: 'state' };

export function newBrowser(): Browser {
  return { key: randomBytes(keyBytes), completed: [] };
}

/** Parses the cookie's value; undefined if it is missing or malformed. */
export function parseBrowser(text: string | undefined): Browser | undefined {
  const [, key, completed = ''] = cookieForm.exec(text ?? '') ?? [];
  return key === undefined
    ? undefined
    : { key: Buffer.from(key, 'base64url'), completed: completed.split('.').filter(Boolean) };
}

/** Returns the cookie value of a browser. */
export function formatBrowser({ key, completed }: Browser): string {
  return [key.toString('base64url'), ...completed].join('.');
}

export function complete({ key, completed }: Browser, { id }: Visit): Browser {
  return { key, completed: [...completed, id].slice(-maxCompleted) };
}

export function newVisit(visit: Omit<Visit, 'id'>): Visit {
  return { ...visit, id: randomBytes(16).toString('base64url') };
}

/**
 * Returns the `state` of a visit, which contains the visit, sealed with the browser's key. Any number of tabs can
 * therefore be at the provider, and another browser cannot complete a visit.
 */
export function stateOf({ key }: Browser, visit: Visit): string {
  return createSecretBox(key).seal(JSON.stringify(visit), context).toString('base64url');
}

/** Opens a `state`; undefined unless this browser has started the visit. */
export function openState({ key }: Browser, state: string): Visit | undefined {
  try {
    const text = createSecretBox(key).open(Buffer.from(state, 'base64url'), context).toString();
    return visitForm.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
