import { TextField } from '../../ui/field.tsx';

/** Text filter that applies on Enter or blur, so that not every keystroke starts a search. */
export function TextFilter({
  label,
  value = '',
  onSet,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onSet: (value: string) => void;
}) {
  return (
    <TextField
      key={value}
      label={label}
      defaultValue={value}
      className="input-code"
      onBlur={(event) => event.target.value.trim() !== value && onSet(event.target.value.trim())}
      onKeyDown={(event) => event.key === 'Enter' && onSet(event.currentTarget.value.trim())}
    />
  );
}
