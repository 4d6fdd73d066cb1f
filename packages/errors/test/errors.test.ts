import { status as grpcStatus } from '@grpc/grpc-js';
import { type ErrorCode, errorKinds, RmsError, toRmsError } from '@rms/errors';

const kinds = Object.entries(errorKinds) as [ErrorCode, (typeof errorKinds)[ErrorCode]][];

describe('The error table', () => {
  // The specification, "Errors".
  test.each([
    ['invalid_api_key', 401],
    ['api_key_expired', 401],
    ['insufficient_scope', 403],
    ['ip_not_allowed', 403],
    ['rate_limit_exceeded', 429],
    ['quota_exceeded', 429],
  ] as const)('%s is HTTP %i', (code, httpStatus) => {
    expect(errorKinds[code].httpStatus).toBe(httpStatus);
  });

  test.each(kinds)('%s has an HTTP error status, a gRPC error status and a message for a person', (_, kind) => {
    expect(kind.httpStatus).toBeGreaterThanOrEqual(400);
    expect(kind.httpStatus).toBeLessThan(600);
    expect(grpcStatus[kind.grpcStatus]).toBeDefined();
    expect(kind.grpcStatus).not.toBe(grpcStatus.OK);
    expect(kind.message).toMatch(/^[A-Z].*\.$/);
  });

  test.each(kinds)('%s: what is busy or away may be tried again, what is wrong stays wrong', (_, kind) => {
    const later = [408, 409, 429, 503, 504].includes(kind.httpStatus);
    expect(kind.retryable).toBe(later);
  });
});

describe('RmsError', () => {
  test("has its code's message, no details and no retry time unless told", () => {
    const error = new RmsError('not_found');
    expect(error).toMatchObject({ name: 'RmsError', code: 'not_found', message: errorKinds.not_found.message });
    expect(error.details).toEqual([]);
    expect(error.retryAfterSeconds).toBeUndefined();
    expect('cause' in error).toBe(false);
    expect(error.kind).toBe(errorKinds.not_found);
  });

  test('carries what it is given', () => {
    const cause = new Error('inside');
    const details = [{ field: 'name', message: 'is required' }];
    const error = new RmsError('invalid_request', { message: 'Not so.', details, retryAfterSeconds: 3, cause });
    expect(error).toMatchObject({ message: 'Not so.', details, retryAfterSeconds: 3, cause });
  });
});

describe('toRmsError', () => {
  test('leaves an RmsError as it is', () => {
    const error = new RmsError('conflict');
    expect(toRmsError(error)).toBe(error);
  });

  test.each([new Error('password=hunter2'), 'password=hunter2', undefined, null, 42])(
    'makes internal_error of %s, which stays inside as the cause',
    (thrown) => {
      const error = toRmsError(thrown);
      expect(error.code).toBe('internal_error');
      expect(error.message).toBe(errorKinds.internal_error.message);
      if (thrown !== undefined) expect(error.cause).toBe(thrown);
    },
  );
});
