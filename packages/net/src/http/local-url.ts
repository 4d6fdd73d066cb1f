/** Hosts of listeners that are bound to all addresses, and the address that reaches them from this machine. */
const everyAddress: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Whether a listener with this host is bound to all addresses, so that clients need to know another one. */
export function isEveryAddress(host: string): boolean {
  return everyAddress.has(host);
}

/** Returns a URL that works on this machine, also for a listener that is bound to all addresses. */
export function localUrl(host: string, port: number): string {
  const reachable = everyAddress.get(host) ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
