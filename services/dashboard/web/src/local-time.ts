/** Formats a time for a datetime-local field: local time without seconds. */
export function toLocal(at: string | undefined): string {
  if (!at || Number.isNaN(Date.parse(at))) return '';
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Converts the value of a datetime-local field to ISO 8601; '' stays ''. */
export function toUtc(local: string): string {
  return local === '' ? '' : new Date(local).toISOString();
}
