import { hostname, userInfo } from 'node:os';
import { newId } from '@rms/base/ids';

const maxActorLength = 200;

/** Returns the audit log actor of the current user, and one request ID for all calls of the command. */
export function operatorContext(): { actor: string; requestId: string } {
  const actor = `operator:${harmlessName(userName())}@${harmlessName(hostname())}`;
  return { actor: [...actor].slice(0, maxActorLength).join(''), requestId: newId('req') };
}

/** Replaces all characters except letters, digits and "._+-" with "_". The result contains no separator of an actor. */
export function harmlessName(text: string): string {
  return text.replace(/[^\p{L}\p{M}\p{N}._+-]/gu, '_') || 'unknown';
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user ID may have no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
