import { describeWith, perSuite, startNetwork, waitUntil } from '../../src/index.ts';

describeWith(['redis', 'kafka'], 'startNetwork', () => {
  const network = perSuite(startNetwork);

  test('a key created by the rms command works, and a killed service works after its restart', async () => {
    const { key } = await network.rms<{ key: string }>(
      ...['keys', 'create', '--environment', 'live', '--scope', 'read', '--name', 'test'],
    );
    const list = async () =>
      (await fetch(`${network.liveUrl}/v1/resources`, { headers: { authorization: `Bearer ${key}` } })).status;
    expect(await list()).toBe(200);

    const { pid } = network.services.resources;
    await network.services.resources.kill();
    expect(await list()).toBe(503);
    await network.services.resources.restart();
    expect(network.services.resources.pid).not.toBe(pid);
    // The gateway reconnects a moment later.
    await waitUntil(async () => (await list()) === 200, { what: 'the gateway to respond again' });
  });

  test('a failing rms command reports its line on stderr', async () => {
    await expect(network.rms('keys', 'create')).rejects.toThrow(/^rms keys create: .*required/);
  });
});
