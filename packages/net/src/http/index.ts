export {
  type AppResponse,
  checkHead,
  createHttpApp,
  mountEndpoints,
  mountOpen,
  type RequestLocals,
  requestIdOf,
  routeNotFound,
  wallTimeOf,
} from './app.ts';
export { BodyBudget, type BodyOptions, readJsonBody } from './body.ts';
export { baseUrlOf, clientOf, createProxyWarning, readTrustedProxies } from './client.ts';
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
