import type { FieldViolation } from '@rms/errors';

const nameLimit = 100;

/** What is wrong with a name that an operator gives a workspace or a key; counted in code points. */
export function nameViolations(name: string): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const length = [...name].length;
  if (length < 1 || length > nameLimit) {
    violations.push({ field: 'name', message: `must have 1 to ${nameLimit} characters` });
  }
  if (/\p{Cc}/u.test(name)) violations.push({ field: 'name', message: 'must not hold control characters' });
  return violations;
}
