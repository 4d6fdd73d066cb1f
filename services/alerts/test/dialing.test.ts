import { createLogger } from '@rms/runtime/logging';
import { startSmtpReceiver, testSlowNames } from '@rms/testkit';
import { createSmtpDelivery, readSmtpUrl } from '../src/email/smtp.ts';
import { smtpOptions } from './support.ts';

const log = createLogger({ name: 'test', level: 'silent' });

describe('emails are sent to a relay', () => {
  testSlowNames(async () => {
    const receiver = await startSmtpReceiver();
    return {
      port: receiver.port,
      reach: async (host, port) => {
        const deliver = createSmtpDelivery(readSmtpUrl(`smtp://${host}:${port}`, smtpOptions()), log);
        const raw = Buffer.from('Subject: x\r\n\r\nhello\r\n');
        const sent = await deliver({ id: 'mail_1', from: 'rms@example.com', to: 'a@example.com', raw });
        expect(sent).toMatchObject({ outcome: 'sent' });
      },
      stop: () => receiver.stop(),
    };
  });
});
