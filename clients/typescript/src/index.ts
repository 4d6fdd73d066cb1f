export {
  ApiError,
  AuthenticationError,
  ConflictError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PermissionError,
  PreconditionFailedError,
  RateLimitError,
  RmsError,
  ServiceError,
  type Violation,
  WebhookVerificationError,
} from './errors.ts';
export type * from './generated/types.ts';
export type { FeedOptions, List, Page } from './pages.ts';
export { Rms } from './rms.ts';
export type {
  CallOptions,
  ChangeOptions,
  CreateOptions,
  NotModified,
  ReadOptions,
  Result,
  RmsOptions,
} from './transport.ts';
export { type ReceivedHeaders, type VerifyOptions, verifyWebhook } from './webhook.ts';
