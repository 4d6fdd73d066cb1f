/** A rejected command of an SMTP conversation. */
export interface SmtpRefusal {
  /** "RCPT TO", for example. "DATA" also means the reply to the whole message. */
  readonly command: string;
  /** The server's reply: "550 5.1.1 No such user". */
  readonly reply: string;
}

/** Status codes about the sender's address (RFC 3463, 3.2), which is a setting. */
const aboutSender = new Set(['5.1.7', '5.1.8']);
/** Replies without an enhanced status code (RFC 5321, 4.2.3) that concern the recipient or the message. */
const finalCodes: Readonly<Record<string, readonly string[]>> = {
  'MAIL FROM': ['552'],
  'RCPT TO': ['550', '551', '552', '553'],
  DATA: ['552', '554'],
};

/**
 * Returns whether a rejection concerns the recipient or the message itself, so that no other attempt can succeed. Other
 * rejections concern settings (authentication, TLS, relaying, reputation) of this service or of the server, which an
 * operator can change. The enhanced status code decides if there is one (RFC 3463): an address (5.1), a mailbox (5.2),
 * the size (5.3.4) or the content (5.6).
 */
export function isFinalRefusal({ command, reply }: SmtpRefusal): boolean {
  const [, code = '', status] = /^(5\d\d)[ -](?:(5\.\d{1,3}\.\d{1,3})(?!\S))?/.exec(reply) ?? [];
  if (status === undefined) return finalCodes[command]?.includes(code) ?? false;
  return Object.hasOwn(finalCodes, command) && /^5\.(?:[126]\.|3\.4$)/.test(status) && !aboutSender.has(status);
}
