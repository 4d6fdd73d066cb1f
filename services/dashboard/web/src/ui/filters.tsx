import { toLocal, toUtc } from '../local-time.ts';
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
        label="Since"
        type="datetime-local"
        value={toLocal(since)}
        onChange={(event) => onSet({ since: toUtc(event.target.value) })}
      />
      <TextField
        label="Until"
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

/** Switch of a live tail. `state`: how new rows appear while it is on. */
export function LiveTail({
  of: rows,
  isLive,
  state = 'Updated every 2 s',
  onSet,
}: {
  readonly of: string;
  readonly isLive: boolean;
  readonly state?: string;
  readonly onSet: (changed: { live: string }) => void;
}) {
  return (
    <Choice
      type="checkbox"
      label="Live tail"
      hint={isLive ? state : `Show new ${rows} automatically`}
      checked={isLive}
      onChange={() => onSet({ live: isLive ? '' : '1' })}
    />
  );
}
