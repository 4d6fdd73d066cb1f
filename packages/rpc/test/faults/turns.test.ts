import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificates, turnLoop } from '@rms/testkit';
import { watchCertificates } from '../../src/certificates.ts';

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
