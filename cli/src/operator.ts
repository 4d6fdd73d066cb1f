import { hostname, userInfo } from 'node:os';
import { newId } from '@rms/ids';

const longestActor = 200;

/** What the audit log says of the person at this terminal, and one request id for all that a command does. */
export function operatorContext(): { actor: string; requestId: string } {
  const actor = `operator:${harmlessName(userName())}@${harmlessName(hostname())}`;
  return { actor: [...actor].slice(0, longestActor).join(''), requestId: newId('req') };
}

/** The separators of an actor, spaces and whatever a terminal or a log might take for more than a name become "_". */
export function harmlessName(text: string): string {
  return text.replace(/[^\p{L}\p{M}\p{N}._+-]/gu, '_') || 'unknown';
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that has no name.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}
