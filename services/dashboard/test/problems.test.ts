import type { Key, Webhook } from '@rms/api';
import { expiringOf, unhealthyOf } from '../web/src/features/overview/problems.ts';

const nowMs = Date.parse('2026-03-10T00:00:00Z');
const inDays = (days: number) => new Date(nowMs + days * 86_400_000).toISOString();

test('failing and paused endpoints are in order, those with the most pending deliveries first', () => {
  const webhook = (id: string, state: Webhook['health']['state'], pending: number) =>
    ({ id, health: { state, pending } }) as Webhook;
  const shown = unhealthyOf([webhook('failing', 'failing', 1), webhook('paused', 'paused', 2)]);
  expect(shown.map(({ id }) => id)).toEqual(['paused', 'failing']);
});

test('keys that expire within two weeks are shown, the next one first', () => {
  const key = (id: string, expires_at: string | null, overlap_ends_at: string | null = null) =>
    ({ id, expires_at, overlap_ends_at }) as Key;
  const shown = expiringOf(
    [
      key('never', null),
      key('in a year', inDays(365)),
      key('in 14 days', inDays(14)),
      key('later', inDays(15)),
      key('tomorrow', inDays(1)),
      key('rolled', null, inDays(2)),
    ],
    nowMs,
  );
  expect(shown.map(({ id }) => id)).toEqual(['tomorrow', 'rolled', 'in 14 days']);
});
