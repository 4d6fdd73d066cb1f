/**
 * Maximum number of events of a request that are read, per environment. A client can send any number of requests with
 * the same X-Request-ID, and the index of request IDs does not have their events in order. Of more events, those that
 * the index returns first are read, from the oldest day on.
 */
const maxEvents = 10_000;

/**
 * Returns the SQL for a request's events in an environment `scope.environment` of workspace $1, in no order.
 * @param requestId placeholder of the ID
 */
export function eventsOfRequest(columns: string, requestId: string): string {
  return `select ${columns} from webhooks.events as e
           where e.workspace_id = $1 and e.environment = scope.environment and e.request_id = ${requestId}
           limit ${maxEvents}`;
}
