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
