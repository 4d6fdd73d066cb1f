import { type ErrorCode, errorKinds, RmsError, toRmsError, tryAgainIn } from '@rms/base/errors';

const kinds = Object.entries(errorKinds) as [ErrorCode, (typeof errorKinds)[ErrorCode]][];

describe('The error table', () => {
  // Clients decide by these codes and statuses.
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

  test.each(kinds)('%s has an HTTP error status and a human-readable message', (_, kind) => {
    expect(kind.httpStatus).toBeGreaterThanOrEqual(400);
    expect(kind.httpStatus).toBeLessThan(600);
    expect(kind.message).toMatch(/^[A-Z].*\.$/);
  });

  test.each(kinds)('%s: errors of load and availability are retryable, invalid requests are not', (_, kind) => {
    const later = [408, 409, 429, 503, 504].includes(kind.httpStatus);
    expect(kind.retryable).toBe(later);
  });
});

describe('RmsError', () => {
  test('defaults to the message of its code, without details or retry time', () => {
    const error = new RmsError('not_found');
    expect(error).toMatchObject({ name: 'RmsError', code: 'not_found', message: errorKinds.not_found.message });
    expect(error.details).toEqual([]);
    expect(error.retryAfterSeconds).toBeUndefined();
    expect('cause' in error).toBe(false);
    expect(error.kind).toBe(errorKinds.not_found);
  });

  test('contains the given values', () => {
    const cause = new Error('inside');
    const details = [{ field: 'name', message: 'is required' }];
    const error = new RmsError('invalid_request', { message: 'Not so.', details, retryAfterSeconds: 3, cause });
    expect(error).toMatchObject({ message: 'Not so.', details, retryAfterSeconds: 3, cause });
  });
});

describe('toRmsError', () => {
  test('returns an RmsError unchanged', () => {
    const error = new RmsError('conflict');
    expect(toRmsError(error)).toBe(error);
  });

  test.each([new Error('password=hunter2'), 'password=hunter2', undefined, null, 42])(
    'wraps %s as the cause of internal_error',
    (thrown) => {
      const error = toRmsError(thrown);
      expect(error.code).toBe('internal_error');
      expect(error.message).toBe(errorKinds.internal_error.message);
      if (thrown !== undefined) expect(error.cause).toBe(thrown);
    },
  );
});

describe('tryAgainIn', () => {
  test.each([
    [0, 'Try again in 1 s.'],
    [19.2, 'Try again in 20 s.'],
    [119.5, 'Try again in 2 minutes.'],
    [1_150, 'Try again in 20 minutes.'],
    [7_200, 'Try again in 2 hours.'],
    [21_599, 'Try again in 6 hours.'],
  ])('%s s: %s', (seconds, text) => {
    expect(tryAgainIn(seconds)).toBe(text);
  });
});
