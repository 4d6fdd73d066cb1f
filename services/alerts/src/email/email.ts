/** Content of an email. It may include text from users and is not escaped for headers. */
export interface EmailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** URL that unsubscribes by one click, or by one POST of an email client (RFC 8058). */
  readonly unsubscribeUrl?: string;
  /** ID of an earlier email to the same recipient. */
  readonly inReplyTo?: string;
}

/** Time limit for sending an email. */
export const emailLifeMs = 3 * 24 * 3_600_000;

const firstDelayMs = 15_000;
/** Longest delay before an attempt. A lease is shorter. */
export const maxDelayMs = 30 * 60_000;

/** Returns the delay before the next attempt, after `attempts` failed ones. */
export function retryDelayMs(attempts: number): number {
  return Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(attempts - 1, 20));
}

/** Bidirectional control characters. A name with them could reorder the text after it. */
const bidiControls = '\\u202a-\\u202e\\u2066-\\u2069';
const unwanted = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${bidiControls}]+`, 'gu');

/** Returns the text as one line of at most `longest` characters, without control characters. */
export function oneLine(text: string, longest = 200): string {
  const line = text.replace(unwanted, ' ').trim();
  const characters = [...line];
  return characters.length > longest ? `${characters.slice(0, longest - 1).join('')}…` : line;
}

/** Escapes text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
