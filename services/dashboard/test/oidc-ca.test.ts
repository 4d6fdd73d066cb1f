import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { disposable, makeCertificates } from '@rms/testkit';
import { type OidcScene, startOidcScene } from './oidc-support.ts';

describe('a provider with a certificate of an internal CA', () => {
  let folder: string;
  let oidc: OidcScene;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'rms-oidc-'));
    const { certFile, keyFile } = makeCertificates(join(folder, 'own')).issue('provider');
    makeCertificates(join(folder, 'other'));
    oidc = await startOidcScene({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
  });
  afterAll(async () => {
    await oidc?.stop();
    rmSync(folder, { recursive: true });
  });

  test('cannot be used by default', async () => {
    expect((await oidc.get('/api/oidc/start?next=%2F')).headers.get('location')).toContain('failed=');
  });

  test('is used with the current OIDC_CA_FILE', async () => {
    const file = join(folder, 'ca.pem');
    copyFileSync(join(folder, 'other', 'ca.pem'), file);
    await using dashboard = disposable(await oidc.startWith({ OIDC_CA_FILE: file }));
    expect((await oidc.get('/api/oidc/start?next=%2F', '', dashboard)).headers.get('location')).toContain('failed=');
    copyFileSync(join(folder, 'own', 'ca.pem'), file);
    expect(await oidc.identify(dashboard)).toMatchObject({ identity: { subject: 'subject-1' }, reason: null });
  });
});
