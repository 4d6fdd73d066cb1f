/*
 * Filters of webhooks by the content of an event: their rules, for the API's schemas, the webhooks service and pages.
 * services/webhooks evaluates them in PostgreSQL.
 */
import { metadataLimits, textProblem } from '../value-rules/index.ts';

export const filterOperators = ['eq', 'ne', 'in', 'not_in', 'prefix', 'exists', 'not_exists'] as const;
export type FilterOperator = (typeof filterOperators)[number];

/** A condition on a field of an event. An absent field only satisfies `ne`, `not_in` and `not_exists`. */
export interface FilterCondition {
  /** `name`, `status`, `input_type`, `metadata.<key>`, or one of `previous_attributes`. */
  readonly field: string;
  readonly op: FilterOperator;
  /** Several values for `in` and `not_in`; none for `exists` and `not_exists`. */
  readonly value?: string | readonly string[] | undefined;
}

/** A group has either `all` or `any`. */
export interface FilterGroup {
  readonly all?: readonly FilterElement[] | undefined;
  readonly any?: readonly FilterElement[] | undefined;
}

export type FilterElement = FilterGroup | FilterCondition;

export const filterLimits = {
  /** Groups within groups, including the outermost one. */
  levels: 3,
  conditions: 50,
  /** Values of `in` and `not_in`. */
  values: 100,
  /** Characters of a value. */
  valueLength: 500,
  /** Bytes of the filter as JSON. Bounds the time for an event. */
  bytes: 8_192,
} as const;

/** Problem of a filter part. */
export interface FilterProblem {
  /** For example ["all", "0", "value"]. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Returns a filter's problems, at most one per condition; none if it is valid. */
export function filterProblems(value: unknown): FilterProblem[] {
  const problems: FilterProblem[] = [];
  let conditions = 0;
  const check = (element: unknown, path: readonly string[], level: number): void => {
    if (conditions > filterLimits.conditions) return;
    const problem = (message: string, ...more: string[]) => problems.push({ path: [...path, ...more], message });
    if (typeof element !== 'object' || element === null || Array.isArray(element)) {
      conditions += 1;
      problem(level === 1 ? 'must be an object with all or any' : 'must be a group or a condition');
      return;
    }
    if (level > 1 && !('all' in element) && !('any' in element)) {
      conditions += 1;
      const found = conditionProblem(element as Record<string, unknown>);
      if (found) problem(found.message, found.part);
      return;
    }
    const [name, elements] = Object.entries(element)[0] ?? [];
    if (Object.keys(element).length !== 1 || (name !== 'all' && name !== 'any')) {
      conditions += 1;
      problem('must contain either all or any, and nothing else');
    } else if (!Array.isArray(elements) || elements.length === 0) {
      conditions += 1;
      problem('must be a list of at least one group or condition', name);
    } else if (level > filterLimits.levels) {
      conditions += 1;
      problem(`must have at most ${filterLimits.levels} levels of groups`);
    } else {
      for (const [i, one] of elements.entries()) {
        if (conditions > filterLimits.conditions) break;
        check(one, [...path, name, String(i)], level + 1);
      }
    }
  };
  check(value, [], 1);
  if (conditions > filterLimits.conditions) {
    return [{ path: [], message: `must have at most ${filterLimits.conditions} conditions` }];
  }
  if (problems.length === 0 && new TextEncoder().encode(JSON.stringify(value)).length > filterLimits.bytes) {
    return [{ path: [], message: `must have at most ${filterLimits.bytes} bytes as JSON` }];
  }
  return problems;
}

/** Returns a filter's conditions in order. */
export function conditionsOf(filter: FilterElement): FilterCondition[] {
  if (!isGroup(filter)) return [filter];
  return (filter.all ?? filter.any ?? []).flatMap(conditionsOf);
}

export function isGroup(element: FilterElement): element is FilterGroup {
  return !('field' in element);
}

const fieldNames = ['name', 'status', 'input_type'];
const previous = 'previous_attributes.';
const metadata = 'metadata.';

function conditionProblem(condition: Record<string, unknown>): { part: string; message: string } | undefined {
  const { field, op, value, ...others } = condition;
  const [other] = Object.keys(others);
  if (other !== undefined) return { part: other.slice(0, 100), message: 'is unknown in a condition' };
  if (typeof field !== 'string' || !isField(field)) {
    return {
      part: 'field',
      message: 'must be name, status, input_type, metadata.<key> or previous_attributes.<field>',
    };
  }
  if (!filterOperators.some((one) => one === op)) {
    return { part: 'op', message: `must be one of ${filterOperators.join(', ')}` };
  }
  const problem = valueProblem(op as FilterOperator, value);
  return problem === undefined ? undefined : { part: 'value', message: problem };
}

function isField(field: string): boolean {
  const own = field.startsWith(previous) ? field.slice(previous.length) : field;
  if (own.startsWith(metadata))
    return textProblem(own.slice(metadata.length), 1, metadataLimits.keyLength) === undefined;
  return fieldNames.includes(own) || (own !== field && own === 'metadata');
}

function valueProblem(op: FilterOperator, value: unknown): string | undefined {
  if (op === 'exists' || op === 'not_exists') return value === undefined ? undefined : `must be absent for ${op}`;
  const { values, valueLength } = filterLimits;
  const problemOf = (one: unknown) => (typeof one === 'string' ? textProblem(one, 0, valueLength) : 'must be a string');
  if (op !== 'in' && op !== 'not_in') return problemOf(value);
  if (!Array.isArray(value) || value.length === 0 || value.length > values) {
    return `must be a list of 1 to ${values} strings`;
  }
  const problem = value.map(problemOf).find((one) => one !== undefined);
  return problem && `each ${problem}`;
}
