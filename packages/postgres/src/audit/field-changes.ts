import { type FieldChange, type FieldValue, secretValue } from '@rms/base/audit-change';
import { redact, redactLine } from '@rms/runtime/logging';

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

/** Mark of a cut. */
const mark = '…';
/** Characters shown in front of the first difference of two long texts. */
const lead = 20;

/** Cuts a text after `length` characters. */
function cutText(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}${mark}` : text;
}

/**
 * Cuts two values so that their difference remains visible. The common beginning of two long texts is omitted, and so
 * are the items that two long lists have in common.
 */
function cutPair(before: FieldValue, after: FieldValue, length: number): [before: FieldValue, after: FieldValue] {
  if (sizeOf(before) <= length && sizeOf(after) <= length) return [before, after];
  if (typeof before === 'string' && typeof after === 'string') {
    const start = Math.max(0, commonStart(before, after) - lead);
    const from = (text: string) => (start > 0 ? mark : '') + cutText(text.slice(start).toWellFormed(), length);
    return [from(before), from(after)];
  }
  const common = new Set(isList(before) && isList(after) ? before.filter((item) => after.includes(item)) : []);
  const cut = (value: FieldValue) => {
    if (isList(value)) return cutList(value, common, length);
    return typeof value === 'string' ? cutText(value, length) : value;
  };
  return [cut(before), cut(after)];
}

function isList(value: FieldValue): value is readonly string[] {
  return Array.isArray(value);
}

function sizeOf(value: FieldValue): number {
  if (isList(value)) return value.reduce((size, item) => size + item.length, 0);
  return typeof value === 'string' ? value.length : 0;
}

function cutList(items: readonly string[], common: ReadonlySet<string>, length: number): readonly string[] {
  const others = items.filter((item) => !common.has(item));
  const shown: string[] = [];
  let size = 0;
  for (const item of others) {
    size += item.length;
    if (size > length && shown.length > 0) break;
    shown.push(cutText(item, length));
  }
  const unchanged = items.length - others.length;
  const more = others.length - shown.length;
  return [
    ...shown,
    ...(more > 0 ? [`${mark} ${more} more`] : []),
    ...(unchanged > 0 ? [`${mark} ${unchanged} unchanged`] : []),
  ];
}

function commonStart(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i += 1;
  return i;
}
