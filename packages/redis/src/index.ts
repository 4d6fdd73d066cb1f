export { connectLater } from './connect-later.ts';
export { slotOf } from './key-slot.ts';
export { createRedisServers, openRedisServers } from './open-redis-servers.ts';
export { type RedisAddress, readRedisAddress } from './redis-address.ts';
export { findMissingRights, isLoading, limiterRights, type RedisRights, sessionRights } from './redis-rights.ts';
export type { RedisServer, RedisServers } from './redis-servers.ts';
export { confirmedKey, createRedisWatch, type RedisWatch, runIdOf } from './redis-watch.ts';
