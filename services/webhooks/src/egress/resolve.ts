import { Resolver } from 'node:dns/promises';

/** The addresses of a name, of both families; none if it does not resolve. */
export type Resolve = (name: string) => Promise<string[]>;

/**
 * By DNS itself: no hosts file, no search domains of the cluster, no thread pool that slow names could fill. `localhost`
 * is what RFC 6761 says.
 */
export function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return async (name) => {
    if (name === 'localhost') return ['127.0.0.1', '::1'];
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  };
}
