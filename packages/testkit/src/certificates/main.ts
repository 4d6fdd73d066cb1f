// Program of certificates.ts: `authority FOLDER`, or `issue FOLDER NAME DAYS [SAN …]`.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Identity, issue, makeAuthority } from '@rms/net/certificates';

const [command, folder = '', name = '', days = '', ...names] = process.argv.slice(2);
const now = new Date();

if (command === 'authority') {
  mkdirSync(folder, { recursive: true });
  write('ca', await makeAuthority('Test CA', { days: 3_650, now }));
} else {
  const [cert, key] = ['ca.pem', 'ca.key'].map((file) => readFileSync(join(folder, file), 'utf8'));
  const authority = { cert: cert ?? '', key: key ?? '' };
  write(name, await issue(authority, { commonName: name, names }, { days: Number(days), now }));
}

function write(file: string, { cert, key }: Identity): void {
  writeFileSync(join(folder, `${file}.pem`), cert);
  writeFileSync(join(folder, `${file}.key`), key);
}
