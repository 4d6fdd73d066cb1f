import { eventTypes, receivedTypes } from '../../src/webhook-events/index.ts';

test('a webhook receives the event types that it names, or all with "*"', () => {
  expect(receivedTypes(['*'])).toEqual(eventTypes);
  expect(receivedTypes(['resource.deleted', 'resource.created'])).toEqual(['resource.created', 'resource.deleted']);
});
