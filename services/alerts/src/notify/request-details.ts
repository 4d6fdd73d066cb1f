import { type Tenant, toEnvironmentMessage } from '@rms/base/tenant';
import type { RequestsService, SummarizeFailuresResponse } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { type RpcClient, timestampFromMs } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import { oneLine } from '../email/email.ts';
import type { AlertKind } from '../rule/rule.ts';

/** What a notification about requests adds to its incident. */
export interface RequestDetails {
  /** The most frequent status, route and key, to append to the summary; empty if they are unknown. */
  readonly text: string;
  /** Query of the dashboard's page of requests that shows them. */
  readonly search: string;
}

export interface RequestDetailsParts {
  readonly auth: Pick<RpcClient<typeof RequestsService>, 'summarizeFailures'>;
  readonly log: Logger;
}

/** The requests that a notification is about. */
interface Subject extends Tenant {
  readonly kind: AlertKind;
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs: number;
}

/** Returns whether incidents of a rule are about API requests. */
export function isAboutRequests(kind: AlertKind): boolean {
  return kind === 'api_error_rate' || kind === 'rate_limited';
}

/**
 * Reads the most frequent status, route and key of the requests that an incident is about from the request log. If auth
 * is unavailable, or the log has none of these requests, the text is empty.
 */
export async function readRequestDetails(
  { auth, log }: RequestDetailsParts,
  { workspaceId, environment, kind, sinceMs, untilMs }: Subject,
): Promise<RequestDetails> {
  const rateLimited = kind === 'rate_limited';
  const [since, until] = [sinceMs, untilMs].map((ms) => new Date(ms).toISOString()) as [string, string];
  const searchOf = (status: string) => String(new URLSearchParams({ ...(status ? { status } : {}), since, until }));
  try {
    const found = await auth.summarizeFailures({
      ...{ workspaceId, environment: toEnvironmentMessage(environment), rateLimited },
      ...{ since: timestampFromMs(sinceMs), until: timestampFromMs(untilMs) },
    });
    if (found.requests > 0) return { text: textOf(found), search: searchOf(String(found.status)) };
  } catch (err) {
    log.warn({ err, workspace_id: workspaceId }, 'could not read the requests of an alert; it is sent without details');
  }
  return { text: '', search: searchOf(rateLimited ? '429' : '') };
}

/** Returns "; most frequent: status 404 (80 of 120), route GET /v1/resources/{id} (70), API key ci-deploy (110)". */
function textOf(found: SummarizeFailuresResponse): string {
  const { requests, status, withStatus, method, route, withRoute, keyId, keyHint, keyName, withKey } = found;
  const path = route === '' || route.includes('*') ? 'an unknown path' : route.replaceAll(/:(\w+)/g, '{$1}');
  const key = [oneLine(keyName, 60), keyHint].filter((part) => part !== '').join(', ') || keyId;
  const parts = [
    `status ${status} (${withStatus} of ${requests})`,
    `route ${method} ${path} (${withRoute})`,
    ...(key === '' ? [] : [`API key ${key} (${withKey})`]),
  ];
  return `; most frequent: ${parts.join(', ')}`;
}
