import { waitUntil } from '@rms/testkit';
import type { Consumer } from 'kafkajs';
import { watchForStall } from '../src/kafka-stall-watch.ts';

test('a consumer is replaced after the clock was set back, because its heartbeats have stopped', async () => {
  const now = Date.now;
  const watch = watchForStall({ on() {}, events: {} } as unknown as Consumer);
  const reasons: string[] = [];
  watch.onStall((reason) => reasons.push(reason));
  try {
    Date.now = () => now() - 3_600_000;
    await waitUntil(() => reasons.length > 0, { what: 'the watch to notice' });
    expect(reasons[0]).toBe('the clock was set back');
  } finally {
    Date.now = now;
    watch.stop();
  }
});
