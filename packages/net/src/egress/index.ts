export { dialTarget, selectPermitted } from './dial.ts';
export {
  BlockedAddressError,
  blockedBy,
  createEgressGuard,
  type EgressGuard,
  type GuardConfig,
  isLocalName,
  type Refusal,
} from './guard.ts';
export { readGuardConfig } from './guard-config.ts';
export { createResolve } from './resolve.ts';
