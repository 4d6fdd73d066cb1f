/** Groups of endpoints with their descriptions, in the OpenAPI document's order. */
export const tags = {
  Resources: 'The primary objects of a workspace.',
  Webhooks:
    'Subscriptions to events. Each event is delivered as a signed HTTP POST request, which the callbacks of ' +
    '`POST /v1/webhooks` describe.',
  Events: 'All events as an ordered feed, independent of webhooks.',
  Deliveries: 'Deliveries of events to webhooks, with their attempts, for as long as the delivery log is kept.',
  Replays: 'Runs that send deliveries of a webhook again, at a limited rate.',
  Portal: 'Webhook pages for the users of your application, who have no account here.',
  Requests: 'Recent API requests of the workspace, and what followed from each.',
  Metrics: 'Numbers of requests and deliveries over time, for charts and monitoring.',
  Alerts:
    'Rules that watch requests, webhooks, keys and the quota, the incidents that they open, and the channels that ' +
    'report them.',
  'API keys': 'Credentials of API clients. A key belongs to one workspace and environment.',
  Members: 'Users with a role in the workspace, in both environments, and invitations.',
  Workspace: 'The workspace of the key, its limits and its audit log.',
} as const;

export type Tag = keyof typeof tags;
