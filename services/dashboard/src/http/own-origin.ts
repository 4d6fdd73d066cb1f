import type { IncomingMessage } from 'node:http';
import { baseUrlOf, clientOf } from '@rms/http';
import type { DashboardConfig } from '../config.ts';

type OriginConfig = Pick<DashboardConfig, 'publicUrl' | 'trustedProxies'>;

/** Returns the origin of the dashboard's pages, e.g. "https://dashboard.example.com". */
export function ownOrigin(request: IncomingMessage, { publicUrl, trustedProxies }: OriginConfig): string {
  return new URL(publicUrl ?? baseUrlOf(request, clientOf(request, trustedProxies))).origin;
}

/** Returns whether the browser uses HTTPS, either directly or through a trusted proxy. */
export function isSecure(request: IncomingMessage, { publicUrl, trustedProxies }: OriginConfig): boolean {
  return publicUrl?.startsWith('https:') === true || clientOf(request, trustedProxies).usesHttps;
}
