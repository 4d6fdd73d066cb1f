import { TextField } from '../ui/field.tsx';

/** Is set when one is done with it: each letter would be a search of its own. */
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
