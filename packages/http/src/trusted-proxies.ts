import { SettingsError } from '@rms/service';
import { type CidrList, parseCidrs } from './cidr-list.ts';

/** The networks of TRUSTED_PROXIES. Throws {@link SettingsError} if one is none, or if they cover all addresses. */
export function readTrustedProxies(cidrs: readonly string[]): CidrList {
  let proxies: CidrList;
  try {
    proxies = parseCidrs(cidrs);
  } catch (error) {
    throw new SettingsError(`TRUSTED_PROXIES: ${(error as Error).message}`);
  }
  if (proxies.coversAll)
    throw new SettingsError('TRUSTED_PROXIES must not cover all addresses: any client could choose its own');
  return proxies;
}
