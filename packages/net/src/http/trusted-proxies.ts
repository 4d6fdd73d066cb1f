import { type CidrList, parseCidrs } from '@rms/base/cidr';
import { SettingsError } from '@rms/runtime/settings';

/** Parses TRUSTED_PROXIES. Throws {@link SettingsError} if an entry is malformed or the entries cover all addresses. */
export function readTrustedProxies(cidrs: readonly string[]): CidrList {
  let proxies: CidrList;
  try {
    proxies = parseCidrs(cidrs);
  } catch (error) {
    throw new SettingsError(`TRUSTED_PROXIES: ${(error as Error).message}`);
  }
  if (proxies.coversAll)
    throw new SettingsError(
      'TRUSTED_PROXIES must not cover all addresses; otherwise clients could forge their address',
    );
  return proxies;
}
