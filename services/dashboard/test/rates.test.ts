import { deliveryRate, errorRate, shareText } from '../web/src/features/usage/rates.ts';

test('the delivery rate counts pending deliveries as not delivered, and names its denominator', () => {
  expect(deliveryRate({ delivered: 1_000, failed: 0, canceled: 0, unfinished: 900 })).toEqual({
    text: '52.6 %',
    of: 'of 1,900 deliveries: 0 failed, 900 pending',
  });
  expect(deliveryRate({ delivered: 1, failed: 0, canceled: 0, unfinished: 0 })).toEqual({
    text: '100.0 %',
    of: 'of 1 delivery: 0 failed, 0 pending',
  });
  expect(deliveryRate({ delivered: 0, failed: 0, canceled: 0, unfinished: 0 }).text).toBe('–');
  expect(deliveryRate({ delivered: 10_000, failed: 0, canceled: 0, unfinished: 10_000 })).toEqual({
    text: 'at most 50.0 %',
    of: 'of 20,000 or more deliveries: 0 failed, 10,000 or more pending',
  });
  expect(deliveryRate({ delivered: 1, failed: 1, canceled: 2, unfinished: 0 })).toEqual({
    text: '50.0 %',
    of: 'of 2 deliveries: 1 failed, 0 pending; 2 canceled',
  });
  // Without the backlog, 100 % could be wrong.
  expect(deliveryRate({ delivered: 3, failed: 0, canceled: 0, unfinished: undefined }).text).toBe('–');
});

test('a rate of 100 % or 0 % is exact', () => {
  expect(shareText(99_999, 100_000)).toBe('99.9 %');
  expect(errorRate(1, 100_000)).toEqual({ text: '0.1 %', of: 'of 100,000 requests: 1 with 4xx or 5xx' });
  expect(errorRate(0, 10).text).toBe('0.0 %');
  expect(errorRate(1, 1).of).toBe('of 1 request: 1 with 4xx or 5xx');
  expect(errorRate(0, 0).text).toBe('–');
});
