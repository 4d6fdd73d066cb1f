/** A field's value. null: the field is not set, or the object does not exist. */
export type FieldValue = string | number | boolean | null | readonly string[];

/** A changed field. Values that must not be stored are {@link secretValue}. */
export interface FieldChange {
  /** In snake case, "metadata.team" for part of a field. */
  readonly field: string;
  readonly before: FieldValue;
  readonly after: FieldValue;
}

/** Stands for a secret, as in log lines. */
export const secretValue = '[secret]';

/** Returns a change as text: "url: https://a → https://b", "password: changed". */
export function changeText({ field, before, after }: FieldChange): string {
  return `${field}: ${changedValueText(before, after)}`;
}

/** Returns a change's values as text: "https://a → https://b", or "changed" for a secret. */
export function changedValueText(before: FieldValue, after: FieldValue): string {
  if (before === secretValue || after === secretValue)
    return before === null ? 'set' : after === null ? 'removed' : 'changed';
  const [old, now] = [valueText(before), valueText(after)];
  // The values differ in a part that is not stored.
  return old === now ? 'changed' : `${old} → ${now}`;
}

/** Returns a name with its ID: "Orders" (wh_…). Returns the ID if the object has no name. */
export function namedText(name: string | null, id: string): string {
  return name === null || name === '' || name === id ? id : `"${name}" (${id})`;
}

function valueText(value: FieldValue): string {
  if (value === null) return 'none';
  if (value === '') return '""';
  return typeof value === 'object' ? value.join(', ') : String(value);
}
