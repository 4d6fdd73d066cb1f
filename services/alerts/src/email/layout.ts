import { type EmailContent, escapeHtml, oneLine } from './email.ts';

/** Content of an email before formatting. All fields are plain text. */
export interface Message {
  readonly subject: string;
  /** The main statement. */
  readonly headline: string;
  readonly paragraphs: readonly string[];
  /** Color of the line at the top. */
  readonly mood: 'bad' | 'good' | 'plain';
  readonly action?: { readonly label: string; readonly url: string };
  /** Small print at the end. */
  readonly footer: readonly string[];
  readonly unsubscribe?: {
    readonly label: string;
    /** URL that email clients POST to (RFC 8058). */
    readonly url: string;
    /** Token that undoes the unsubscription. Becomes the link's fragment in the text. */
    readonly undoToken: string;
  };
}

const colors = { bad: '#c92a2a', good: '#2b8a3e', plain: '#3b5bdb' } as const;
const fonts = "font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** Formats a message as text and as HTML without external resources. */
export function renderLayout(message: Message): EmailContent {
  const { subject, unsubscribe } = message;
  return {
    subject: oneLine(subject),
    text: asText(message),
    html: asHtml(message),
    ...(unsubscribe ? { unsubscribeUrl: unsubscribe.url } : {}),
  };
}

function asText({ headline, paragraphs, action, footer, unsubscribe }: Message): string {
  const parts = [
    oneLine(headline, 500),
    ...paragraphs.map((paragraph) => oneLine(paragraph, 1_000)),
    ...(action ? [`${action.label}:\n${action.url}`] : []),
    '--',
    ...footer.map((line) => oneLine(line, 500)),
    ...(unsubscribe ? [`${unsubscribe.label}:\n${pageOf(unsubscribe)}`] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function asHtml({ subject, headline, paragraphs, mood, action, footer, unsubscribe }: Message): string {
  const small = 'margin:0 0 8px;font-size:13px;line-height:1.5;color:#5c636a';
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(oneLine(subject))}</title></head>`,
    `<body style="margin:0;background:#f4f5f7;${fonts}">`,
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center" style="padding:24px 12px">',
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;',
    `border-top:4px solid ${colors[mood]};border-radius:6px"><tr><td style="padding:28px">`,
    `<h1 style="margin:0 0 16px;font-size:20px;line-height:1.35;color:#16191d">${escapeHtml(oneLine(headline, 500))}</h1>`,
    ...paragraphs.map(
      (paragraph) =>
        `<p style="margin:0 0 14px;font-size:15px;line-height:1.55;color:#2b2f33">${escapeHtml(oneLine(paragraph, 1_000))}</p>`,
    ),
    ...(action
      ? [
          `<p style="margin:22px 0"><a href="${escapeHtml(action.url)}" style="display:inline-block;padding:11px 18px;`,
          'background:#16191d;color:#ffffff;text-decoration:none;border-radius:5px;font-size:15px">',
          `${escapeHtml(action.label)}</a></p>`,
        ]
      : []),
    '<hr style="border:0;border-top:1px solid #e3e5e8;margin:24px 0 16px">',
    ...footer.map((line) => `<p style="${small}">${escapeHtml(oneLine(line, 500))}</p>`),
    ...(unsubscribe
      ? [
          `<p style="${small}"><a href="${escapeHtml(pageOf(unsubscribe))}" style="color:#5c636a">`,
          `${escapeHtml(unsubscribe.label)}</a></p>`,
        ]
      : []),
    '</td></tr></table></td></tr></table></body></html>',
  ].join('\n');
}

function pageOf({ url, undoToken }: NonNullable<Message['unsubscribe']>): string {
  return `${url}#${undoToken}`;
}
