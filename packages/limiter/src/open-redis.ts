import { readTlsFiles, requireSettings, type Settings, SettingsError, type TlsFiles } from '@rms/settings';
import type { Redis } from 'ioredis';
import { isTls, plainConnection } from './connect-later.ts';

/** Creates a connection to the Redis named by the settings; it opens on connect(). Throws SettingsError. */
export function openRedis(settings: Settings): Redis {
  const { url, tls } = readRedisSettings(settings);
  return plainConnection(url, tls);
}

/** Reads the URL and TLS files of Redis. Throws SettingsError. */
export function readRedisSettings(settings: Settings): { url: string; tls: TlsFiles } {
  requireSettings(settings, 'REDIS_URL');
  const { REDIS_URL: url } = settings;
  const tls = readTlsFiles(settings, 'REDIS');
  if (!isTls(url) && (tls.ca || tls.cert)) {
    const name = tls.ca ? 'REDIS_CA_FILE' : 'REDIS_CERT_FILE';
    throw new SettingsError(`${name} is set, but REDIS_URL is redis://, without TLS; use rediss://`);
  }
  return { url, tls };
}
