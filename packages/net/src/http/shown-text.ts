import { redactLine } from '@rms/runtime/logging';

/** Returns text of a request for an error message: without secrets, cut after `maxLength` characters. */
export function shownText(text: string, maxLength: number): string {
  const redacted = redactLine(text, { length: maxLength });
  return text.length > maxLength || redacted.length > maxLength ? `${redacted.slice(0, maxLength)}…` : redacted;
}
