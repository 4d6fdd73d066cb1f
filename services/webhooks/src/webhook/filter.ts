import { createHash } from 'node:crypto';
import type { FieldViolation } from '@rms/base/errors';
import {
  type FilterCondition,
  type FilterElement,
  type FilterGroup,
  filterProblems,
  isGroup,
} from '@rms/base/webhook-filter';

/**
 * Parses a filter in a request: JSON; empty: none. Returns it with its violations.
 * @param field field of the request, for violations
 */
export function parseFilter(json: string, field = 'filter'): { filter?: FilterGroup; violations: FieldViolation[] } {
  if (json === '') return { violations: [] };
  let filter: unknown;
  try {
    filter = JSON.parse(json);
  } catch {
    return { violations: [{ field, message: 'must be JSON' }] };
  }
  const violations = filterProblems(filter).map(({ path, message }) => ({
    field: [field, ...path].join('.'),
    message,
  }));
  return { filter: filter as FilterGroup, violations };
}

/**
 * Returns a filter as a text search query (tsquery), which PostgreSQL evaluates on the terms of an event; see
 * `webhooks.filter_terms()`. Its time is linear in the filter's size.
 */
export function filterQuery(element: FilterElement): string {
  if (isGroup(element)) return combined(element.all ? '&' : '|', (element.all ?? element.any ?? []).map(filterQuery));
  return conditionQuery(element);
}

function conditionQuery({ field, op, value = '' }: FilterCondition): string {
  // The same term as in webhooks.filter_terms(). A hash has no "=", so that fields and values cannot be confused.
  const term = createHash('sha256').update(field).digest('hex').slice(0, 16);
  const equal = (one: string) => lexeme(`${term}=${one}`);
  const values = [value].flat();
  switch (op) {
    case 'eq':
    case 'in':
      return combined('|', values.map(equal));
    case 'ne':
    case 'not_in':
      return `!${combined('|', values.map(equal))}`;
    case 'prefix':
      return `${equal(values[0] ?? '')}:*`;
    case 'exists':
      return `${lexeme(term)}:*`;
    case 'not_exists':
      return `!${lexeme(term)}:*`;
  }
}

function combined(operator: '&' | '|', queries: readonly string[]): string {
  return `(${queries.join(` ${operator} `)})`;
}

function lexeme(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}

/** Returns a field's value in an event; undefined if it is absent or not a string. */
export function valueIn(event: unknown, field: string): string | undefined {
  const data = partOf(event, 'data');
  const isPrevious = field.startsWith('previous_attributes.');
  const object = partOf(data, isPrevious ? 'previous_attributes' : 'object');
  const own = isPrevious ? field.slice('previous_attributes.'.length) : field;
  const value = own.startsWith('metadata.')
    ? partOf(partOf(object, 'metadata'), own.slice('metadata.'.length))
    : partOf(object, own);
  return typeof value === 'string' ? value : undefined;
}

function partOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
