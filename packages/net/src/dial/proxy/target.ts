/** A call's destination. A URL object is a valid target. */
export interface Target {
  /** For example "https:". If undefined, the protocol is not checked. */
  readonly protocol?: string;
  /** A host name, or an IP address with or without brackets. */
  readonly hostname: string;
  /** Empty means the default port of the protocol. */
  readonly port: string;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Returns the canonical form of a URL's host, for DNS, SNI, certificates and headers: lower case, without brackets and
 * the final dot. The URL parser has converted it to lower case and punycode.
 */
export function hostOf(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

/** Returns the port. URLs omit the default port of their scheme. */
export function portOf({ protocol, port }: Target): string {
  return port || (protocol === 'http:' ? '80' : '443');
}
