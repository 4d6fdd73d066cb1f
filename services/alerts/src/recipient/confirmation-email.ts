import { type EmailContent, oneLine } from '../email/email.ts';
import { renderLayout } from '../email/layout.ts';

/** Returns the content of an email that asks an address outside the workspace to confirm. */
export function confirmationEmail(workspaceName: string, confirmUrl: string): EmailContent {
  const name = oneLine(workspaceName, 80);
  return renderLayout({
    subject: `Confirm alert emails from ${name}`,
    headline: `Receive alert emails from ${name}?`,
    paragraphs: [
      `A member of the workspace ${name} has added this address to the recipients of an alert rule.`,
      'Confirm to receive its alerts. The link expires in 7 days.',
    ],
    mood: 'plain',
    action: { label: 'Receive alert emails', url: confirmUrl },
    footer: ['If you do not want these emails, ignore this one. You receive no alerts unless you confirm.'],
  });
}
