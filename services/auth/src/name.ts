import type { FieldViolation } from '@rms/base/errors';

const nameLimit = 100;

/** Validates a workspace or key name. The limit counts Unicode code points. */
export function nameViolations(name: string): FieldViolation[] {
  const violations: FieldViolation[] = [];
  const length = [...name].length;
  if (length < 1 || length > nameLimit) {
    violations.push({ field: 'name', message: `must have 1 to ${nameLimit} characters` });
  }
  if (/\p{Cc}/u.test(name)) violations.push({ field: 'name', message: 'must not contain control characters' });
  return violations;
}
