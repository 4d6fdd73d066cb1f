export {
  type AppResponse,
  createHttpApp,
  mountEndpoints,
  mountOpen,
  type RequestLocals,
  routeNotFound,
  wallTimeOf,
} from './app.ts';
export { BodyBudget, readJsonBody } from './body.ts';
export { baseUrlOf, clientOf, createProxyWarning, readTrustedProxies } from './client.ts';
export { checkHead, requestIdOf } from './head.ts';
export { type ConnectionRefusal, isEveryAddress, type Listener, listen, localUrl } from './listener.ts';
export {
  abortOnClose,
  errorResponse,
  type Response,
  securityHeaders,
  sendResponse,
  setSecurityHeaders,
  shownText,
} from './respond.ts';
export { parseBody, parseQuery } from './validate.ts';
