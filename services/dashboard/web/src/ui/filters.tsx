import { toLocal, toUtc } from '../local-time.ts';
import { uiTexts } from '../texts/ui.ts';
import { Choice, TextField } from './field.tsx';

/** Filter by a range of times: ISO 8601 in UTC, shown as local time. Empty or undefined: no bound. */
export function TimeRangeFilter({
  of: { since, until },
  onSet,
}: {
  readonly of: { readonly since?: string | undefined; readonly until?: string | undefined };
  readonly onSet: (changed: { since?: string; until?: string }) => void;
}) {
  return (
    <>
      <TextField
        label={uiTexts().since}
        type="datetime-local"
        value={toLocal(since)}
        onChange={(event) => onSet({ since: toUtc(event.target.value) })}
      />
      <TextField
        label={uiTexts().until}
        type="datetime-local"
        value={toLocal(until)}
        onChange={(event) => onSet({ until: toUtc(event.target.value) })}
      />
    </>
  );
}

/** Text filter that applies on Enter or blur, so that not every keystroke starts a search. */
export function TextFilter({
  label,
  value = '',
  placeholder,
  onSet,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly placeholder?: string;
  readonly onSet: (value: string) => void;
}) {
  return (
    <TextField
      key={value}
      label={label}
      placeholder={placeholder}
      defaultValue={value}
      className="input-code"
      onBlur={(event) => event.target.value.trim() !== value && onSet(event.target.value.trim())}
      onKeyDown={(event) => event.key === 'Enter' && onSet(event.currentTarget.value.trim())}
    />
  );
}

/** Switch of a live tail. */
export function LiveTail({
  isLive,
  hints,
  onSet,
}: {
  readonly isLive: boolean;
  /** What switching it on does, and how new rows appear while it is on. */
  readonly hints: { readonly off: string; readonly on: string };
  readonly onSet: (changed: { live: string }) => void;
}) {
  return (
    <Choice
      type="checkbox"
      label={uiTexts().liveTail}
      hint={hints[isLive ? 'on' : 'off']}
      checked={isLive}
      onChange={() => onSet({ live: isLive ? '' : '1' })}
    />
  );
}
