import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@rms/service';
import type { Deliver } from './sender.ts';

/** Writes mails as files that mail programs open, for who has no SMTP server; each is named in the log. */
export function createEmlFolder(folder: string, log: Logger): Deliver {
  return async ({ id, to, raw }) => {
    const file = join(folder, `${id.replace(/[^\w-]/g, '_')}.eml`);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const building = `${file}.new`;
      const handle = await open(building, 'w', 0o600);
      try {
        await handle.writeFile(raw);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(building, file);
    } catch (error) {
      return { outcome: 'try_again', error: (error as Error).message };
    }
    // For people who look for it: npm start shows warnings only.
    log.warn({ mail_id: id, recipient: to, file }, 'SMTP_URL is not set: a mail was written into a file');
    return { outcome: 'sent' };
  };
}
