import { createRequire } from 'node:module';

/** Returns the release. All packages of this repository have its version. */
export function versionOfService(): string {
  return (createRequire(import.meta.url)('../package.json') as { version: string }).version;
}
