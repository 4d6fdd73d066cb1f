export {
  BlockedAddressError,
  blockedBy,
  createEgressGuard,
  dialTarget,
  type EgressGuard,
  type GuardConfig,
  isLocalName,
  type Refusal,
  readGuardConfig,
  selectPermitted,
} from './guard.ts';
export { createResolve } from './resolve.ts';
