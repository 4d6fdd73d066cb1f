export type { LimitCheck, LimitDecision, Limiter, LimiterOptions, LimitState } from './limiter.ts';
export { createMemoryLimiter } from './memory-limiter.ts';
export { createRedisLimiter, type RedisLimiterOptions } from './redis-limiter.ts';
