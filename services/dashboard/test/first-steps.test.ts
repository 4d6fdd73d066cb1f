import type { Key } from '@rms/api';
import { firstRequest, keyForSteps, needsSteps, shownText } from '../web/src/features/overview/steps.ts';

const key = (name: string, more: Partial<Key> = {}) =>
  ({ id: `key_${name}`, name, hint: 'sk_test_Ab3f…Xy9z', scope: 'admin', status: 'active', ...more }) as Key;

test('the first steps are shown until there are a resource and a webhook, or many resources', () => {
  expect(needsSteps({ resources: 0, webhooks: 0 })).toBe(true);
  expect(needsSteps({ resources: 1, webhooks: 0 })).toBe(true);
  expect(needsSteps({ resources: 0, webhooks: 1 })).toBe(true);
  expect(needsSteps({ resources: 1, webhooks: 1 })).toBe(false);
  expect(needsSteps({ resources: 10, webhooks: 0 })).toBe(false);
});

test('the first request uses the most recent active key that can create resources', () => {
  const keys = [
    key('reader', { scope: 'read' }),
    key('old', { status: 'rolled' }),
    key('first key'),
    key('earlier', { scope: 'write' }),
  ];
  expect(keyForSteps(keys)?.name).toBe('first key');
  expect(keyForSteps(keys.slice(0, 2))).toBeUndefined();
  expect(keyForSteps([])).toBeUndefined();
});

test('the first request has the URL of the environment and names the key, without its value', () => {
  expect(firstRequest('http://127.0.0.1:8081', key('first key'))).toBe(
    [
      "KEY='sk_test_Ab3f…Xy9z'  # the value of this key",
      'curl -s http://127.0.0.1:8081/v1/resources -X POST \\',
      '  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
      `  -d '{"name": "My first resource"}'`,
    ].join('\n'),
  );
  expect(firstRequest('http://127.0.0.1:8080', undefined)).toMatch(
    /^curl -s http:\/\/127\.0\.0\.1:8080\/v1\/resources /,
  );
});

test('the steps tell where the value of the key was shown', () => {
  expect(shownText({ created_by: 'operator:npm start' })).toBe('printed once by the command that created it');
  expect(shownText({ created_by: 'user:usr_1' })).toBe('shown once, when it was created');
  expect(shownText({ created_by: null })).toBe('shown once, when it was created');
});
