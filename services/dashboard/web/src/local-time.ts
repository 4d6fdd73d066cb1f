/** Formats a time for a datetime-local field: local time without seconds. */
export function toLocal(at: string | undefined): string {
  if (!at || Number.isNaN(Date.parse(at))) return '';
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Converts a datetime-local field's value to ISO 8601. Returns '' without a value, and for years after 9999. */
export function toUtc(local: string): string {
  return Number.isNaN(Date.parse(local)) ? '' : new Date(local).toISOString();
}
