import type { IncomingMessage } from 'node:http';
import { baseUrlOf, cameByHttps } from '@rms/http';
import type { DashboardConfig } from '../config.ts';

type Place = Pick<DashboardConfig, 'publicUrl' | 'trustedProxies'>;

/** "https://dashboard.example.com": the origin that our pages have in the browser. */
export function ownOrigin(request: IncomingMessage, { publicUrl, trustedProxies }: Place): string {
  return new URL(publicUrl ?? baseUrlOf(request, trustedProxies)).origin;
}

/** Whether the browser talks https, with us or with the proxy in front of us. */
export function isSecure(request: IncomingMessage, { publicUrl, trustedProxies }: Place): boolean {
  return publicUrl?.startsWith('https:') === true || cameByHttps(request, trustedProxies);
}
