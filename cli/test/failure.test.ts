import { RmsError } from '@rms/base/errors';
import { describeFailure } from '../src/failure.ts';

describe('Errors of the rms command', () => {
  test.each([
    [
      'a service that does not respond',
      new RmsError('service_unavailable'),
      'The service is unreachable. Check that it is running and that DATA_DIR (or AUTH_ADDRESS, WEBHOOKS_ADDRESS) is correct.',
    ],
    [
      'an internal error',
      new RmsError('internal_error'),
      'An internal error occurred. The log of the service names the cause.',
    ],
    [
      'invalid fields',
      new RmsError('invalid_request', {
        details: [
          { field: 'name', message: 'is required' },
          { field: 'scope', message: 'must be read, write or admin' },
        ],
      }),
      'The request is not valid: name is required; scope must be read, write or admin.',
    ],
    [
      'an error with its own message',
      new RmsError('not_found', { message: 'There is no key "key_1".' }),
      'There is no key "key_1".',
    ],
  ])('%s', (_, error, text) => {
    expect(describeFailure(error)).toBe(text);
  });
});
