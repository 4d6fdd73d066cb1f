import { createMetrics, gatherGauges } from '@rms/runtime/metrics';

/** Creates a read that the test resolves or rejects. */
function readByHand() {
  const reads: { resolve(value: number): void; reject(error: Error): void }[] = [];
  return {
    reads,
    read: () =>
      new Promise<number>((resolve, reject) => {
        reads.push({ resolve, reject });
      }),
  };
}

function gathered(options: { freshMs?: number; deadlineMs?: number; staleMs?: number }) {
  const metrics = createMetrics('unit');
  const { reads, read } = readByHand();
  const gauge = gatherGauges({ metrics, source: 'test', read, freshMs: 0, ...options });
  gauge({ name: 'rms_test_depth', help: 'Depth.' }, (value) => [{ value }]);
  gauge({ name: 'rms_test_by_state', help: 'By state.', labelNames: ['state'] }, (value) => [
    { labels: { state: 'a' }, value },
  ]);
  return { metrics, reads };
}

const depth = (text: string) => /rms_test_depth\{[^}]*\} (\S+)/.exec(text)?.[1];

describe('Gathered gauges', () => {
  test('are read once per scrape', async () => {
    const { metrics, reads } = gathered({ deadlineMs: 1e6 });
    const shown = metrics.metrics();
    reads[0]?.resolve(7);
    const text = await shown;
    expect(reads).toHaveLength(1);
    expect(depth(text)).toBe('7');
    expect(text).toMatch(/rms_test_by_state\{state="a",service="unit"\} 7/);
    expect(text).toMatch(/rms_gather_age_seconds\{source="test",service="unit"\} 0/);
  });

  test('a hanging read is not repeated, and the last values are exported meanwhile', async () => {
    const { metrics, reads } = gathered({ deadlineMs: 1 });
    const first = metrics.metrics();
    reads[0]?.resolve(7);
    await first;
    expect(depth(await metrics.metrics())).toBe('7');
    expect(depth(await metrics.metrics())).toBe('7');
    expect(reads).toHaveLength(2);
    reads[1]?.resolve(8);
    await Promise.resolve();
    expect(depth(await metrics.metrics())).toBe('8');
  });

  test('a failure is counted, and stale values are removed', async () => {
    const { metrics, reads } = gathered({ deadlineMs: 1, staleMs: 0 });
    const first = metrics.metrics();
    reads[0]?.resolve(7);
    expect(depth(await first)).toBeUndefined();
    const second = metrics.metrics();
    reads[1]?.reject(new Error('away'));
    await second;
    const text = await metrics.metrics();
    expect(depth(text)).toBeUndefined();
    expect(text).not.toContain('rms_test_by_state{');
    expect(text).toMatch(/rms_gather_failures_total\{source="test",service="unit"\} 1/);
  });

  test('fresh values are not read again', async () => {
    const { metrics, reads } = gathered({ freshMs: 1e6, deadlineMs: 1e6 });
    const first = metrics.metrics();
    reads[0]?.resolve(7);
    await first;
    expect(depth(await metrics.metrics())).toBe('7');
    expect(reads).toHaveLength(1);
  });
});
