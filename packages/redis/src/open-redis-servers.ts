import { waitAtMost } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import type { Settings } from '@rms/runtime/settings';
import { createClusterServers } from './cluster-servers.ts';
import { connectLater, connectTimeoutMs } from './connect-later.ts';
import { type RedisAddress, readRedisAddress } from './redis-address.ts';
import type { RedisServers } from './redis-servers.ts';

/**
 * Creates connections for sessions to the Redis named by the settings; they open on connect(). The user of sessions need
 * not have permission to run INFO. While the server loads its data, commands fail. Throws SettingsError.
 */
export function openRedisServers(settings: Settings, log: Logger): RedisServers {
  return createRedisServers({ ...readRedisAddress(settings, log), waitsForData: false }, log);
}

/** Creates connections to an address; they open on connect(). */
export function createRedisServers(address: RedisAddress, log: Logger): RedisServers {
  return address.isCluster ? createClusterServers(address, log) : createSingleServer(address, log);
}

function createSingleServer(address: RedisAddress, log: Logger): RedisServers {
  const redis = connectLater(address);
  const server = { redis, log, ownKey: (name: string) => name };
  const all = [server];
  const detaches: (() => void)[] = [];
  return {
    all: () => all,
    of: () => server,
    onServer(attach) {
      detaches.push(attach(server));
    },
    onMove() {},
    comparison: () => async () => true,
    failed() {},
    connect: () =>
      waitAtMost(
        redis.connect().catch(() => {}),
        connectTimeoutMs,
      ),
    disconnect() {
      for (const detach of detaches) detach();
      redis.disconnect();
    },
  };
}
