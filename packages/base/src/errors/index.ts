export { checkVersion, isExpected } from './check-version.ts';
export { type ErrorCode, type ErrorKind, errorKinds } from './error-table.ts';
export { type FieldViolation, RmsError, toRmsError } from './rms-error.ts';
export { tryAgainIn } from './try-again.ts';
