import MailComposer from 'nodemailer/lib/mail-composer';
import type { MailContent } from './mail.ts';
import { oneLine } from './mail.ts';

export interface Letter {
  readonly id: string;
  readonly recipient: string;
  readonly createdAt: Date;
  readonly content: MailContent;
}

/** Who mails come from. */
export interface Sender {
  readonly name: string;
  readonly address: string;
}

/**
 * A mail as it goes over the wire (RFC 5322). Its Message-ID is the same each time, so that one that arrives twice can be
 * told. Nothing is read from files or fetched, whatever the content says.
 */
export async function compose({ id, recipient, createdAt, content }: Letter, sender: Sender): Promise<Buffer> {
  const domain = sender.address.slice(sender.address.indexOf('@') + 1);
  const { unsubscribeUrl } = content;
  const composer = new MailComposer({
    from: { name: oneLine(sender.name), address: sender.address },
    to: { name: '', address: recipient },
    subject: oneLine(content.subject),
    date: createdAt,
    messageId: `<${id}@${domain}>`,
    text: content.text,
    html: content.html,
    disableFileAccess: true,
    disableUrlAccess: true,
    headers: {
      'Auto-Submitted': 'auto-generated',
      ...(unsubscribeUrl
        ? { 'List-Unsubscribe': `<${unsubscribeUrl}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
        : {}),
    },
  });
  return await composer.compile().build();
}
