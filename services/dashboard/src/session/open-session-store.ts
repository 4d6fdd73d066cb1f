import { openRedis } from '@rms/limiter';
import type { Logger, Settings } from '@rms/service';
import { createRedisSessionStore } from './redis-session-store.ts';
import type { SessionStore } from './session-store.ts';

/** The store on the Redis that the settings name. Throws SettingsError. */
export function openSessionStore(settings: Settings, log: Logger): SessionStore {
  return createRedisSessionStore(openRedis(settings), log);
}
