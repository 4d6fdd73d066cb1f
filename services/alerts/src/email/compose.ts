import EmailComposer from 'nodemailer/lib/mail-composer';
import type { EmailContent } from './email.ts';
import { oneLine } from './email.ts';

export interface Letter {
  readonly id: string;
  readonly recipient: string;
  readonly createdAt: Date;
  readonly content: EmailContent;
}

/** Sender of all emails. */
export interface Sender {
  readonly name: string;
  readonly address: string;
}

/**
 * Builds an email in wire format (RFC 5322). The Message-ID is constant across retries, so that recipients can detect
 * duplicates. The content cannot cause file reads or URL fetches.
 */
export async function compose({ id, recipient, createdAt, content }: Letter, sender: Sender): Promise<Buffer> {
  const domain = sender.address.slice(sender.address.indexOf('@') + 1);
  const { unsubscribeUrl, inReplyTo } = content;
  const composer = new EmailComposer({
    from: { name: oneLine(sender.name), address: sender.address },
    to: { name: '', address: recipient },
    subject: oneLine(content.subject),
    date: createdAt,
    messageId: `<${id}@${domain}>`,
    ...(inReplyTo ? { inReplyTo: `<${inReplyTo}@${domain}>`, references: `<${inReplyTo}@${domain}>` } : {}),
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
