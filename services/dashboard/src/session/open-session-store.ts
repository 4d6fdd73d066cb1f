import { openRedisServers } from '@rms/redis';
import type { Logger } from '@rms/runtime/logging';
import { orSettingsError, requireSettings, type Settings } from '@rms/runtime/settings';
import { createRedisSessionStore } from './redis-session-store.ts';
import { createSessionBox } from './session-box.ts';
import type { SessionStore } from './session-store.ts';

/** Opens the session store in Redis. Throws SettingsError. */
export function openSessionStore(settings: Settings, log: Logger): SessionStore {
  requireSettings(settings, 'SESSION_KEY');
  const box = orSettingsError(() => createSessionBox(settings.SESSION_KEY));
  return createRedisSessionStore(openRedisServers(settings, log), box, log);
}
