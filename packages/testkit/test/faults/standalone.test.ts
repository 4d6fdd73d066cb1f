import { existsSync } from 'node:fs';
import { type Standalone, startStandalone } from '../../src/index.ts';

describe('startStandalone', () => {
  let standalone: Standalone | undefined;
  afterAll(() => standalone?.stop(), 60_000);

  test('its data survive a kill and a restart, and are removed by stop()', async () => {
    standalone = await startStandalone();
    const { key, id } = await standalone.rms<{ key: string; id: string }>(
      ...['keys', 'create', '--environment', 'test', '--scope', 'read', '--name', 'test'],
    );
    await standalone.kill();
    await standalone.restart();
    const response = await fetch(`${standalone.sandboxUrl}/v1/resources`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(200);
    const { data } = await standalone.rms<{ data: { id: string }[] }>('keys', 'list');
    expect(data.map((one) => one.id)).toContain(id);

    await standalone.kill();
    await standalone.stop();
    expect(existsSync(standalone.dataDir)).toBe(false);
  });
});
