export {
  type Freshness,
  type KeyChange,
  type LimitCheck,
  type LimitDecision,
  type Limiter,
  type LimiterOptions,
  type LimitState,
  type Limits,
  markersTrustMs,
  type QuotaUse,
  type SetMarkers,
} from './limiter.ts';
export { createMemoryLimiter } from './memory-limiter.ts';
export { createRedisLimiter, type OpenLimiterOptions, openLimiter, type RedisLimiterOptions } from './redis-limiter.ts';
