import type { TraceState } from '@opentelemetry/api';

/** Limits of W3C Trace Context. */
const maxMembers = 32;
const maxLength = 512;
/** Members that are longer are dropped first if the list is too long. */
const longMember = 128;

/** A key begins with a letter or a digit (level 2); a value is printable ASCII without comma and equals sign. */
const member = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Returns the valid list members of a tracestate, each key once, within the limits of W3C Trace Context: at most 32
 * members and 512 characters. Of a longer list, it drops members of more than 128 characters first, and then members
 * from the right, which are the oldest. OpenTelemetry's class drops the whole list if it is too long, rejects keys that
 * begin with a digit, and would have to be loaded in processes without tracing.
 */
export function boundTracestate(text: string | undefined): string {
  if (!text) return '';
  const members = new Map<string, string>();
  for (const part of text.split(',')) {
    const trimmed = part.trim();
    const key = keyOf(trimmed);
    if (member.test(trimmed) && !members.has(key)) members.set(key, trimmed);
    if (members.size === maxMembers) break;
  }
  const kept = [...members.values()];
  let length = kept.reduce((sum, one) => sum + one.length + 1, -1);
  for (const isDropped of [(one: string) => one.length > longMember, () => true]) {
    for (let i = kept.length - 1; i >= 0 && length > maxLength; i -= 1) {
      const one = kept[i] ?? '';
      if (!isDropped(one)) continue;
      length -= one.length + 1;
      kept.splice(i, 1);
    }
  }
  return kept.join(',');
}

/** Wraps the result of {@link boundTracestate} for OpenTelemetry. */
export function toTraceState(text: string): TraceState {
  const members = text === '' ? [] : text.split(',');
  const without = (key: string) => members.filter((one) => keyOf(one) !== key);
  return {
    serialize: () => text,
    get: (key) => members.find((one) => keyOf(one) === key)?.slice(key.length + 1),
    set: (key, value) => toTraceState(boundTracestate([`${key}=${value}`, ...without(key)].join(','))),
    unset: (key) => toTraceState(without(key).join(',')),
  };
}

function keyOf(listMember: string): string {
  return listMember.slice(0, Math.max(0, listMember.indexOf('=')));
}
