import { type FieldChange, type FieldValue, secretValue } from '@rms/base/audit-change';
import { redact, redactLine } from '@rms/runtime/logging';
import { cutPair, cutText } from './cut.ts';

declare const made: unique symbol;
/** Changes made by the functions of this file, so that every stored change is bounded and contains no secret. */
export type FieldChanges = readonly FieldChange[] & { readonly [made]: true };

/** Stands for the fields above {@link maxFields}. */
const moreFields = '…';

/** Maximum number of changes of an entry. */
const maxFields = 100;
/** Maximum length of a shown value, in UTF-16 code units, and of all values of an entry. */
const maxValueLength = 500;
const maxEntryLength = 8_000;
const maxFieldLength = 60;
const maxNameLength = 200;
/** Length that every value may have, even if the entry has {@link maxFields} changes. */
const minValueLength = 40;

/** How changes show a property: its value, the function's result, a secret under this name, or not at all. */
type FieldRule<Value> =
  | { readonly secret: string }
  | 'omitted'
  | ([Value] extends [Uint8Array | undefined] ? never : 'shown' | ((value: Value) => unknown));

/**
 * How changes show the properties of an object. Every property must be listed, so that a new one cannot be forgotten.
 * Properties of an object that a function returns are separate fields: "metadata.team".
 */
export type AuditedFields<T> = { readonly [K in keyof T]-?: FieldRule<T[K]> };

/** A field with its value. `compared` differs if the value differs, also for values that are cut or secret. */
interface Field {
  readonly compared: string;
  readonly value: FieldValue;
}

/**
 * Returns the fields that differ between two states of an object. `before` is undefined for a new object, `after` for a
 * deleted one. Both must be states that the change's transaction has locked or written.
 */
export function changesBetween<T extends object>(
  rules: AuditedFields<T>,
  before: NoInfer<T> | undefined,
  after: NoInfer<T> | undefined,
): FieldChanges {
  const changed = (Object.keys(rules) as (keyof T & string)[]).flatMap((key) => {
    const old = fieldsOf(rules, before, key);
    const now = fieldsOf(rules, after, key);
    return [...new Set([...old.keys(), ...now.keys()])]
      .filter((field) => old.get(field)?.compared !== now.get(field)?.compared)
      .map((field) => ({ field, before: old.get(field)?.value ?? null, after: now.get(field)?.value ?? null }));
  });
  return bounded(changed);
}

/** Returns the change for a replaced secret. */
export function secretReplaced(field: string): FieldChanges {
  return bounded([{ field, before: secretValue, after: secretValue }]);
}

/** Returns a name without secrets, cut to 200 characters. */
export function harmlessName(name: string): string {
  return cutText(redactLine(name), maxNameLength);
}

/** Returns facts without secrets, cut like values. */
export function harmlessDetails(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const harmless = (value: unknown): unknown => {
    if (typeof value === 'string') return cutText(redactLine(value), maxValueLength);
    if (Array.isArray(value)) return value.slice(0, maxFields).map(harmless);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, harmless(inner)]));
  };
  return harmless(redact(details)) as Record<string, unknown>;
}

/** Returns a property's fields. */
function fieldsOf<T extends object>(
  rules: AuditedFields<T>,
  state: T | undefined,
  key: keyof T & string,
): Map<string, Field> {
  const fields = new Map<string, Field>();
  const rule: { readonly secret: string } | 'omitted' | 'shown' | ((value: T[typeof key]) => unknown) = rules[key];
  if (!state || rule === 'omitted') return fields;
  const value = state[key];
  if (typeof rule === 'object') {
    const compared = value instanceof Uint8Array ? Buffer.from(value).toString('base64') : JSON.stringify(value);
    if (value !== undefined && value !== null) fields.set(rule.secret, { compared, value: secretValue });
    return fields;
  }
  const shown = typeof rule === 'function' ? rule(value) : value;
  if (shown !== '') addField(fields, snakeCase(key), shown);
  return fields;
}

/** Adds a field, or the parts of an object. Omits undefined, null and empty lists. */
function addField(fields: Map<string, Field>, name: string, value: unknown): void {
  if (value === undefined || value === null) return;
  if (value instanceof Date) addField(fields, name, value.toISOString());
  else if (Array.isArray(value)) {
    const items = value.map(String);
    if (items.length > 0) fields.set(name, { compared: JSON.stringify(items), value: items });
  } else if (typeof value === 'object') {
    for (const [part, inner] of Object.entries(value)) addField(fields, `${name}.${part}`, inner);
  } else {
    const shown = typeof value === 'number' || typeof value === 'boolean' ? value : String(value);
    fields.set(name, { compared: JSON.stringify(shown), value: shown });
  }
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Removes secrets, and cuts values, names and the list. */
function bounded(changes: readonly FieldChange[]): FieldChanges {
  const kept = changes.length > maxFields ? changes.slice(0, maxFields - 1) : changes;
  const perValue = Math.floor(maxEntryLength / Math.max(1, kept.length * 2));
  const length = Math.min(maxValueLength, Math.max(minValueLength, perValue));
  const shown = kept.map(({ field, before, after }) => {
    const [cutBefore, cutAfter] = cutPair(withoutSecrets(field, before), withoutSecrets(field, after), length);
    return { field: cutText(redactLine(field), maxFieldLength), before: cutBefore, after: cutAfter };
  });
  const more = changes.length - kept.length;
  const list = more > 0 ? [...shown, { field: moreFields, before: null, after: `${more} more fields` }] : shown;
  return list as readonly FieldChange[] as FieldChanges;
}

function withoutSecrets(field: string, value: FieldValue): FieldValue {
  if (value === null) return null;
  const name = field.slice(field.lastIndexOf('.') + 1);
  const shown = redact({ [name]: value })[name] as FieldValue;
  if (typeof shown === 'string') return redactLine(shown);
  return Array.isArray(shown) ? shown.map((text) => redactLine(text)) : shown;
}
