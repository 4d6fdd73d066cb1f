import dns from 'node:dns';
import { isIP } from 'node:net';

type Zone = Readonly<Record<string, readonly string[]>>;
type Done = (error: Error | null, found: string | object[], family?: number) => void;

/** Adds names to the system's name service, for this process. Returns a function that removes them. */
export function serveNames(zone: Zone): () => void {
  const { lookup } = dns;
  const served = (name: string, ...rest: unknown[]) => {
    const addresses = zone[name];
    if (!addresses) return Reflect.apply(lookup, dns, [name, ...rest]);
    const [options, done] = (rest.length > 1 ? rest : [{}, ...rest]) as [{ all?: boolean }, Done];
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    setImmediate(() => {
      if (options.all) done(null, found);
      else done(null, found[0]?.address ?? '', found[0]?.family);
    });
  };
  dns.lookup = served as typeof lookup;
  return () => {
    dns.lookup = lookup;
  };
}
