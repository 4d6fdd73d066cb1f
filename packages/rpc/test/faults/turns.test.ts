import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates, turnLoop } from '@rms/testkit';
import { HealthState } from '../../src/health.ts';
import { watchCertificates } from '../../src/security.ts';
import { createUnitService } from '../unit-service.ts';

test('100,000 changes of the health leave nothing behind at a watcher', async () => {
  let seen = 0;
  const { listeners, bytesPerTurn } = await turnLoop(async (signal) => {
    const health = new HealthState(['a']);
    const watching = (async () => {
      for await (const _ of health.watch('a', signal)) seen += 1;
    })();
    for (let turn = 0; !signal.aborted; turn += 1) {
      health.set(turn % 2 === 0);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await watching;
  });
  expect(seen).toBeGreaterThan(100_000);
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});

test('100,000 probes of a service, of which every other one fails, leave nothing behind', async () => {
  let probes = 0;
  const service = createUnitService({
    checks: {
      async database() {
        probes += 1;
        if (probes % 2 === 0) throw new Error('it failed');
      },
    },
  });
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    await service.start();
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await service.stop();
  });
  expect(probes).toBeGreaterThan(50_000);
  expect(bytesPerTurn).toBeLessThan(16);
});

// Each turn reads and parses three files, so these are fewer than in the tests of other loops.
test('10,000 readings of the certificate files leave nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-turns-'));
  try {
    const authority = makeCertificates(folder);
    const files = { ...authority.issue('auth', { sans: ['localhost'] }), caFile: authority.caFile };
    const certificates = watchCertificates(files, { info() {}, error() {} });
    const { bytesPerTurn } = await turnLoop(async (signal) => {
      const listener = () => {};
      certificates.addCaCertificateListener(listener);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      certificates.removeCaCertificateListener(listener);
    }, 10_000);
    expect(bytesPerTurn).toBeLessThan(64);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
