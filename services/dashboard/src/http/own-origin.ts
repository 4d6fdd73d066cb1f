import type { IncomingMessage } from 'node:http';
import { baseUrlOf, clientOf } from '@rms/net/http';
import type { DashboardConfig } from '../config.ts';
import type { CookieScope } from './cookies.ts';

type OriginConfig = Pick<DashboardConfig, 'publicUrl' | 'trustedProxies'>;

/** Returns the dashboard pages' origin, e.g. "https://dashboard.example.com". */
export function ownOrigin(request: IncomingMessage, { publicUrl, trustedProxies }: OriginConfig): string {
  return new URL(publicUrl ?? baseUrlOf(request, clientOf(request, trustedProxies))).origin;
}

/** Returns the scope of cookies. They are secure if the browser uses HTTPS, directly or through a trusted proxy. */
export function cookieScope(request: IncomingMessage, config: OriginConfig): CookieScope {
  const { publicUrl, trustedProxies } = config;
  const secure = publicUrl?.startsWith('https:') === true || clientOf(request, trustedProxies).usesHttps;
  return { secure, port: new URL(ownOrigin(request, config)).port };
}
