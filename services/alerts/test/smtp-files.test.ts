import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { makeCertificates, perSuite, startSmtpReceiver, suiteFolder } from '@rms/testkit';
import { readAlertsConfig } from '../src/config.ts';
import { chooseDelivery } from '../src/email/choose-delivery.ts';

describe('each email is sent with the current files', () => {
  const log = createLogger({ name: 'test', level: 'silent' });
  const folder = suiteFolder('smtp-files');
  const urlFile = join(folder, 'url');
  const email = { id: 'eml_1', from: 'a@example.com', to: 'b@example.com', raw: Buffer.from('Subject: x\r\n\r\nx') };
  const smtp = perSuite(() => startSmtpReceiver({ tls: 'starttls', login: { user: 'rms', password: 'second' } }));
  const writeUrl = (password: string) => writeFileSync(urlFile, `smtp://rms:${password}@localhost:${smtp.port}`);

  test('the password in SMTP_URL_FILE, and the CA', async () => {
    const ca = join(folder, 'ca.pem');
    copyFileSync(makeCertificates(join(folder, 'strangers')).caFile, ca);
    writeUrl('first');
    const settings = readSettings({
      SMTP_URL_FILE: urlFile,
      SMTP_CA_FILE: ca,
      SMTP_TLS: 'required',
      EMAIL_FROM: 'a@example.com',
      ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64'),
    });
    const deliver = chooseDelivery(readAlertsConfig(settings), log);
    if (!deliver) throw new Error('no delivery');
    expect(await deliver(email)).toMatchObject({
      outcome: 'try_again',
      error: expect.stringMatching(/certificate.*; set SMTP_CA_FILE to the CA/),
    });
    copyFileSync(smtp.caFile, ca);
    expect(await deliver(email)).toMatchObject({ outcome: 'try_again', error: expect.stringMatching(/535/) });
    writeUrl('second');
    expect(await deliver(email)).toMatchObject({ outcome: 'sent' });
  });
});
