import { type FieldChange, type FieldValue, secretValue } from './field-change.ts';

export type { FieldChange, FieldValue };

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
