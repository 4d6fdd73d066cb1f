export { checkUrl } from './check-url.ts';
export { ConnectClock } from './connection-times.ts';
export { createEgress, type Egress, type EgressConfig, readEgressConfig } from './egress.ts';
export { type Authorities, createGuardedAgent, type GuardedAgentOptions, withPublic } from './guarded-agent.ts';
export { OpenConnections, OriginPools } from './origin-pools.ts';
export { Exchange, type ExchangeTimes, NoConnectionError, post } from './post.ts';
export { type HeaderPair, singleValue } from './response-head.ts';
