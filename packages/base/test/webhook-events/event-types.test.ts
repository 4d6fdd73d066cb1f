import { receivedTypes, resourceEventTypes } from '../../src/webhook-events/index.ts';

test('a webhook receives the event types that it names, or all about resources with "*"', () => {
  expect(receivedTypes(['*'])).toEqual(resourceEventTypes);
  expect(receivedTypes(['resource.deleted', 'quota.warning', 'resource.created'])).toEqual([
    'resource.created',
    'resource.deleted',
    'quota.warning',
  ]);
});
