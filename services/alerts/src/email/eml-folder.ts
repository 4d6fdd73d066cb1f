import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '@rms/runtime/logging';
import type { Deliver } from './sender.ts';

/** Writes emails to .eml files, for installations without an SMTP server. The log identifies each file. */
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
    // Level warn, because `npm start` shows only warnings.
    log.warn({ email_id: id, recipient: to, file }, 'SMTP_URL is not set: email written to a file');
    return { outcome: 'sent', reply: `written to ${file}` };
  };
}
