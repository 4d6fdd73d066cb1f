import type { FieldValue } from '@rms/base/audit-change';

/** Mark of a cut. */
const mark = '…';
/** Characters shown in front of the first difference of two long texts. */
const lead = 20;

/** Cuts a text after `length` characters. */
export function cutText(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length).toWellFormed()}${mark}` : text;
}

/**
 * Cuts two values so that their difference remains visible. The common beginning of two long texts is omitted, and so
 * are the items that two long lists have in common.
 */
export function cutPair(
  before: FieldValue,
  after: FieldValue,
  length: number,
): [before: FieldValue, after: FieldValue] {
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
