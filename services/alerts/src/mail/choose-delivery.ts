import type { Logger } from '@rms/service';
import { createEmlFolder } from './eml-folder.ts';
import type { Deliver } from './sender.ts';
import { createSmtpDelivery, type SmtpConfig } from './smtp.ts';

/** A mail server, else a folder; undefined: neither, and mails wait. */
export function chooseDelivery(
  { smtp, mailFolder }: { smtp: SmtpConfig | undefined; mailFolder: string | undefined },
  log: Logger,
): Deliver | undefined {
  if (smtp) return createSmtpDelivery(smtp, log);
  if (mailFolder !== undefined) return createEmlFolder(mailFolder, log);
  log.warn('neither SMTP_URL nor MAIL_DIR is set: mails wait, and after three days they are given up');
  return undefined;
}
