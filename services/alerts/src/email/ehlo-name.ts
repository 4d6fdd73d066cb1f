/** Domains that have no meaning outside a machine or network (RFC 6761, RFC 6762, RFC 8375 and customs). */
const localDomain = /(?:^|\.)(?:localhost|localdomain|local|internal|lan|home\.arpa)$/i;
const domainForm = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/**
 * Returns the name that this service introduces itself with to an SMTP server (RFC 5321, 4.1.1.1): the host name if it
 * is a public domain name, otherwise the sender's domain. The names of pods are not domain names.
 */
export function defaultEhloName(hostname: string, senderAddress: string): string {
  if (domainForm.test(hostname) && !localDomain.test(hostname)) return hostname.toLowerCase();
  return senderAddress.slice(senderAddress.indexOf('@') + 1).toLowerCase();
}
