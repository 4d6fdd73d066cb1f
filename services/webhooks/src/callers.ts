import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { type Callers, forKeys, forUsers } from '@rms/rpc';

const { listEvents, getEvent, listEventsOfRequest, listEventsOfResource } = EventsService.method;
const { listDeliveries, getDelivery, redeliverDelivery, cancelDelivery } = DeliveriesService.method;
const { countUnfinishedDeliveries, tailDeliveries } = DeliveriesService.method;
const { replayDeliveries, listReplays, getReplay, cancelReplay } = DeliveriesService.method;

/** The RPCs behind the pages of webhooks and deliveries. */
const portal = [
  ...WebhooksService.methods,
  listDeliveries,
  getDelivery,
  tailDeliveries,
  redeliverDelivery,
  cancelDelivery,
  replayDeliveries,
  listReplays,
  getReplay,
  cancelReplay,
];

/**
 * Gateways may call, for the API key of a request, the RPCs behind the REST API. The dashboard may call, for users,
 * the RPCs behind its pages, including secret rotation and replays. `rms` may call all RPCs.
 */
export const callers: Callers = {
  gateway: forKeys(
    ...WebhooksService.methods,
    listEvents,
    getEvent,
    listEventsOfRequest,
    listDeliveries,
    getDelivery,
    redeliverDelivery,
    cancelDelivery,
    replayDeliveries,
    listReplays,
    getReplay,
    cancelReplay,
  ),
  dashboard: [
    ...forUsers(...portal, countUnfinishedDeliveries, listEvents, getEvent, listEventsOfRequest, listEventsOfResource),
    // For portal sessions, which act for the key that created them.
    ...forKeys(...portal),
  ],
  rms: 'all',
};
