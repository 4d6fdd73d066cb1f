import { readFileSync } from 'node:fs';
import { type Settings, SettingsError } from './settings.ts';

/** What a connection to a store is secured with; PEM. */
export interface TlsOptions {
  /** Unset: the public authorities. */
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly minVersion: 'TLSv1.2';
}

/** The stores whose settings are named alike: PREFIX_CA_FILE, PREFIX_CERT_FILE, PREFIX_KEY_FILE. */
export type Store = 'DATABASE' | 'REDIS' | 'KAFKA';

/** Reads the files of a store's settings. Undefined: none is set. Throws {@link SettingsError}. */
export function readTlsFiles(settings: Settings, store: Store): TlsOptions | undefined {
  const ca = read(settings, `${store}_CA_FILE`);
  const cert = read(settings, `${store}_CERT_FILE`);
  const key = read(settings, `${store}_KEY_FILE`);
  if ((cert === undefined) !== (key === undefined)) {
    throw new SettingsError(`${store}_CERT_FILE and ${store}_KEY_FILE go together`);
  }
  if (ca === undefined && cert === undefined) return undefined;
  return { minVersion: 'TLSv1.2', ...(ca ? { ca } : {}), ...(cert && key ? { cert, key } : {}) };
}

function read(settings: Settings, name: `${Store}_${'CA' | 'CERT' | 'KEY'}_FILE`): Buffer | undefined {
  const file = settings[name];
  if (file === '') return undefined;
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new SettingsError(`${name}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
}
