import { type Receiver, type Standalone, startReceiver, startStandalone, waitUntil } from '@rms/testkit';
import { createApiClient } from '../api/support/api-client.ts';
import type { NewKey } from '../api/support/api-types.ts';
import { openSettings } from './support/traced-request.ts';

/** Returns the level of each log line. */
function levelsOf(output: string): string[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { level: string }).level);
}

async function outputAfterTraffic(env: Record<string, string>): Promise<{ output: string }> {
  const standalone: Standalone = await startStandalone({ env: { ...openSettings, ...env } });
  let receiver: Receiver | undefined;
  try {
    receiver = await startReceiver();
    const key = await standalone.rms<NewKey>(
      'keys',
      'create',
      '--environment',
      'live',
      '--scope',
      'admin',
      '--name',
      'k',
    );
    const client = createApiClient(standalone.liveUrl, key.key);
    await client.post('/v1/webhooks', { url: receiver.url, events: ['*'] });
    for (let i = 0; i < 20; i += 1) expect((await client.post('/v1/resources', { name: `r ${i}` })).status).toBe(201);
    await waitUntil(() => (receiver?.requests.length ?? 0) >= 20, { what: 'all deliveries' });
    await standalone.stop({ keepData: true });
    return { output: standalone.output() };
  } finally {
    await standalone.stop();
    await receiver?.close();
  }
}

describe('npm start with an unreachable collector', () => {
  test('serves, delivers and stops as without tracing, with one warning and no error in the log', async () => {
    const untraced = levelsOf((await outputAfterTraffic({})).output);
    // Port 1 is closed. Exports start immediately and time out soon.
    const { output } = await outputAfterTraffic({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '100',
      OTEL_BSP_SCHEDULE_DELAY: '20',
    });
    const count = (levels: readonly string[], level: string) => levels.filter((one) => one === level).length;
    for (const level of ['error', 'fatal']) expect(count(levelsOf(output), level)).toBe(0);
    expect(count(levelsOf(output), 'warn') - count(untraced, 'warn')).toBe(1);
    expect(output).toContain('trace export failed; the traces are lost');
    // Its shutdown did not time out.
    expect(output).not.toContain('did not');
  });
});
