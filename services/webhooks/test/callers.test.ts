import { DeadLettersService } from '@rms/proto/rms/webhooks/v1/dead_letters_service_pb';
import { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { LookupService } from '@rms/proto/rms/webhooks/v1/lookup_service_pb';
import { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/webhooks/v1/workspace_deletion_service_pb';
import { testOperatorMethods } from '@rms/testkit';
import { callers } from '../src/callers.ts';
import { startWebhooks } from './support.ts';

const services = [
  DeadLettersService,
  DeliveriesService,
  EventsService,
  LookupService,
  SecretsService,
  WebhooksService,
  WorkspaceDeletionService,
];

/** Methods that only `rms` may call, and only for an operator. */
const forOperators: readonly string[] = [
  'rms.webhooks.v1.DeadLettersService/ListDeadLetters',
  'rms.webhooks.v1.DeadLettersService/ReplayDeadLetters',
  'rms.webhooks.v1.DeliveriesService/CountDeliveries',
  'rms.webhooks.v1.EventsService/WatchEvents',
  'rms.webhooks.v1.LookupService/FindWorkspaces',
  'rms.webhooks.v1.SecretsService/ReencryptSecrets',
  'rms.webhooks.v1.WorkspaceDeletionService/CountContents',
  'rms.webhooks.v1.WorkspaceDeletionService/DeleteContents',
];

testOperatorMethods({ callers, services, forOperators, start: startWebhooks });
