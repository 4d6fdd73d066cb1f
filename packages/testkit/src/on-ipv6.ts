import { networkInterfaces } from 'node:os';

/** The functions of jest that this file uses. */
type Test = { (title: string, body: () => Promise<void>): void; skip(title: string, body: () => Promise<void>): void };

/** Declares a test that is skipped on machines without IPv6 on loopback. */
export function onIpv6(title: string, body: () => Promise<void>): void {
  const { test } = globalThis as unknown as { test: Test };
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  if (addresses.some(({ address }) => address === '::1')) test(title, body);
  else test.skip(`${title} [needs IPv6]`, body);
}
