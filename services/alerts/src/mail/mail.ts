/** What a mail says. All of it is text of other people's or ours, not yet in any format of mail. */
export interface MailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Where one click, or one POST by a mail program, ends mails of this sort (RFC 8058). */
  readonly unsubscribeUrl?: string;
}

/** How long a mail is tried to be sent. */
export const mailLifeMs = 3 * 24 * 3_600_000;

const firstDelayMs = 15_000;
const longestDelayMs = 30 * 60_000;

/** How long to wait after so many attempts that came to nothing. */
export function retryDelayMs(attempts: number): number {
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(attempts - 1, 20));
}

/** What turns the direction of the text around it: a name must not reorder the words of ours that follow it. */
const turning = '\\u202a-\\u202e\\u2066-\\u2069';
const unwanted = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${turning}]+`, 'gu');

/** One line without control characters, and not too long for a subject. */
export function oneLine(text: string, longest = 200): string {
  const line = text.replace(unwanted, ' ').trim();
  const characters = [...line];
  return characters.length > longest ? `${characters.slice(0, longest - 1).join('')}…` : line;
}

/** Text as HTML shows it. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
