import type { Logger } from '@rms/runtime/logging';
import type { Followed } from '@rms/runtime/settings';
import { createEmlFolder } from './eml-folder.ts';
import type { Deliver } from './sender.ts';
import { createSmtpDelivery, type SmtpConfig } from './smtp.ts';

/**
 * Chooses SMTP if it is configured, otherwise the folder. Returns undefined if there is neither; emails then stay
 * queued.
 */
export function chooseDelivery(
  { smtp, emailFolder }: { smtp: Followed<SmtpConfig> | undefined; emailFolder: string | undefined },
  log: Logger,
): Deliver | undefined {
  if (smtp) return followDelivery(smtp, log);
  if (emailFolder !== undefined) return createEmlFolder(emailFolder, log);
  log.warn('neither SMTP_URL nor EMAIL_DIR is set: emails stay queued and expire after three days');
  return undefined;
}

/** Delivers each email with the current settings. */
function followDelivery(smtp: Followed<SmtpConfig>, log: Logger): Deliver {
  let config = smtp(log);
  let deliver = createSmtpDelivery(config, log);
  return (email) => {
    const next = smtp(log);
    if (next !== config) deliver = createSmtpDelivery(next, log);
    config = next;
    return deliver(email);
  };
}
