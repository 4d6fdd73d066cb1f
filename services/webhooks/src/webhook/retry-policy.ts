export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly maxRetries: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  /** The delay before each retry. If set, it replaces the other fields. */
  readonly delaysMs?: readonly number[] | undefined;
}

/** Default, as documented in docs/webhook-receivers.md: 5 retries, after about 1 min, 5 min, 30 min, 2 h and 12 h. */
export const defaultRetryPolicy: RetryPolicy = { maxRetries: 5, initialDelayMs: 60_000, maxDelayMs: 12 * 3_600_000 };

/** Each delay relative to the first. Later delays grow by `lastFactor`. */
const multiples = [1, 5, 30, 120, 720];
const lastFactor = 6;
const jitter = 0.1;

/** A longer Retry-After is capped, so that an endpoint cannot block its deliveries indefinitely. */
const maxRetryAfterMs = 24 * 3_600_000;

/**
 * Returns the delay after `tries` failed attempts of this round; undefined if there are no more retries.
 * @param retryAfterMs the delay that a 429 or 503 response requested; used if it is longer
 * @param random a number from 0 to 1
 */
export function nextDelayMs(
  policy: RetryPolicy,
  tries: number,
  retryAfterMs = 0,
  random = Math.random(),
): number | undefined {
  const plainMs = plainDelayMs(policy, tries - 1);
  if (plainMs === undefined) return undefined;
  const delayMs = plainMs * (1 - jitter + 2 * jitter * random);
  return Math.round(Math.max(delayMs, Math.min(retryAfterMs, maxRetryAfterMs)));
}

/** Returns the delay before a retry, without jitter. `index` starts at 0. */
function plainDelayMs({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }: RetryPolicy, index: number) {
  if (delaysMs) return delaysMs[index];
  if (index >= maxRetries) return undefined;
  const last = multiples.length - 1;
  const multiple = multiples[index] ?? (multiples[last] as number) * lastFactor ** (index - last);
  return Math.min(initialDelayMs * multiple, maxDelayMs);
}

/**
 * Parses Retry-After, in seconds or as an HTTP date (RFC 9110, 10.2.3), to milliseconds from now; undefined if invalid.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = parseHttpDate(header, nowMs);
  return dateMs === undefined ? undefined : Math.max(0, dateMs - nowMs);
}

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const months = monthNames.join('|');

/** The three forms of RFC 9110, section 5.6.7; each has the day, the month, the year and the time. */
const imfFixdate = new RegExp(
  `^[A-Z][a-z]{2}, (?<day>\\d{2}) (?<month>${months}) (?<year>\\d{4}) (?<time>[\\d:]{8}) GMT$`,
);
const rfc850 = new RegExp(
  `^[A-Z][a-z]{5,8}, (?<day>\\d{2})-(?<month>${months})-(?<year>\\d{2}) (?<time>[\\d:]{8}) GMT$`,
);
const asctime = new RegExp(`^[A-Z][a-z]{2} (?<month>${months}) (?<day>[ \\d]\\d) (?<time>[\\d:]{8}) (?<year>\\d{4})$`);

/**
 * Parses an HTTP date in any of its three forms to milliseconds since 1970; undefined if invalid. Date.parse would
 * accept many other formats.
 * @param nowMs decides the century for a year with two digits, which is at most 50 years in the future
 */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  const found = imfFixdate.exec(text) ?? rfc850.exec(text) ?? asctime.exec(text);
  const { day = '', month = '', year = '', time = '' } = found?.groups ?? {};
  const [, hours, minutes, seconds] = /^([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)$/.exec(time) ?? [];
  if (!found || hours === undefined) return undefined;
  const dateMs = Date.UTC(fullYear(year, nowMs), monthNames.indexOf(month), Number(day));
  // Date.UTC moves days that the month does not have to the next month.
  if (new Date(dateMs).getUTCDate() !== Number(day)) return undefined;
  return dateMs + (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000;
}

function fullYear(text: string, nowMs: number): number {
  if (text.length === 4) return Number(text);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}
