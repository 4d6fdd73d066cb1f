const local = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const precise = new Intl.DateTimeFormat(undefined, {
  hour: 'numeric',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
});

/** Local time, with UTC in the tooltip. `at` is an ISO 8601 time. */
export function Time({
  at,
  none = 'never',
  toMs = false,
}: {
  readonly at: string | null | undefined;
  readonly none?: string;
  /** Shows only the time of day, with milliseconds, where the date is shown elsewhere. */
  readonly toMs?: boolean;
}) {
  if (!at) return <span className="soft">{none}</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={`${date.toISOString().replace('T', ' ').replace('Z', '')} UTC`}>
      {(toMs ? precise : local).format(date)}
    </time>
  );
}

/** Formats a duration: "850 ms", "1 min 30 s", "12 h". */
export function durationText(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const parts: string[] = [];
  let rest = Math.round(seconds);
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.slice(0, 2).join(' ');
}
