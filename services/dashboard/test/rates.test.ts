import { backlogText, deliveryRate, errorRate } from '../web/src/features/metrics/rates.ts';
import { shareText } from '../web/src/texts/measures.ts';

const ended = { delivered: 0, failed: 0, canceled: 0, skipped: 0 };

test('the delivery rate counts every delivery however it ended, and pending ones, and names its denominator', () => {
  expect(deliveryRate({ ...ended, delivered: 1_000 }, 900)).toEqual({
    text: '52.6 %',
    of: 'of 1,900 deliveries: 0 failed, 900 pending',
  });
  expect(deliveryRate({ ...ended, delivered: 1 }, 0)).toEqual({
    text: '100.0 %',
    of: 'of 1 delivery: 0 failed, 0 pending',
  });
  expect(deliveryRate(ended, 0).text).toBe('–');
  expect(deliveryRate({ ...ended, delivered: 10_000 }, 10_000)).toEqual({
    text: 'at most 50.0 %',
    of: 'of 20,000 or more deliveries: 0 failed, 10,000 or more pending',
  });
  expect(deliveryRate({ delivered: 2, failed: 1, canceled: 2, skipped: 3 }, 2)).toEqual({
    text: '20.0 %',
    of: 'of 10 deliveries: 1 failed, 2 canceled, 3 skipped, 2 pending',
  });
  // Without the backlog, 100 % could be wrong.
  expect(deliveryRate({ ...ended, delivered: 3 }, undefined).text).toBe('–');
});

test('the backlog names the age of the oldest pending delivery', () => {
  const nowMs = Date.parse('2026-01-02T00:00:00Z');
  expect(backlogText({ count: 1_200, oldest_at: '2026-01-01T22:59:30Z' }, nowMs)).toEqual({
    text: '1,200',
    of: 'pending; the oldest for 1 h 30 s',
  });
  expect(backlogText({ count: 10_000, oldest_at: '2026-01-02T00:00:01Z' }, nowMs)).toEqual({
    text: '10,000 or more',
    of: 'pending; the oldest for 0 ms',
  });
  expect(backlogText({ count: 0, oldest_at: null }, nowMs)).toEqual({ text: '0', of: 'no pending deliveries' });
});

test('a rate of 100 % or 0 % is exact', () => {
  const requests = (count: number, errors_4xx: number, errors_5xx = 0) => errorRate({ count, errors_4xx, errors_5xx });
  expect(shareText(99_999, 100_000)).toBe('99.9 %');
  expect(requests(100_000, 1)).toEqual({ text: '0.1 %', of: 'of 100,000 requests: 1 with 4xx or 5xx' });
  expect(requests(10, 0).text).toBe('0.0 %');
  expect(requests(1, 0, 1).of).toBe('of 1 request: 1 with 4xx or 5xx');
  expect(requests(0, 0).text).toBe('–');
});
