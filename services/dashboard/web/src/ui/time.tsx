import { timeText } from '../texts/numbers.ts';
import { uiTexts } from '../texts/ui.ts';

const precise = { hour: 'numeric', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 } as const;

/** Local time, with UTC in the tooltip. `at` is an ISO 8601 time. */
export function Time({
  at,
  none = uiTexts().never,
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
    <time dateTime={at} title={uiTexts().utc(date.toISOString().replace('T', ' ').replace('Z', ''))}>
      {timeText(date, toMs ? precise : undefined)}
    </time>
  );
}
