// Thread of certificates.ts. Runs `authority FOLDER` and `issue FOLDER NAME DAYS [SAN …]`, and wakes the caller.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { type Identity, issue, makeAuthority } from '@rms/net/certificates';
import type { CertificateRequest } from './certificates.ts';

parentPort?.on('message', async ({ args, done, outcome }: CertificateRequest) => {
  try {
    await run(args);
    outcome.postMessage(undefined);
  } catch (error) {
    outcome.postMessage(error);
  }
  Atomics.store(done, 0, 1);
  Atomics.notify(done, 0);
});

async function run([command, folder = '', name = '', days = '', ...names]: readonly string[]): Promise<void> {
  const now = new Date();
  const write = (file: string, { cert, key }: Identity) => {
    writeFileSync(join(folder, `${file}.pem`), cert);
    writeFileSync(join(folder, `${file}.key`), key);
  };
  if (command === 'authority') {
    mkdirSync(folder, { recursive: true });
    write('ca', await makeAuthority('Test CA', { days: 3_650, now }));
  } else {
    const [cert = '', key = ''] = ['ca.pem', 'ca.key'].map((file) => readFileSync(join(folder, file), 'utf8'));
    write(name, await issue({ cert, key }, { commonName: name, names }, { days: Number(days), now }));
  }
}
