import { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/alerts/v1/workspace_deletion_service_pb';
import { testOperatorMethods } from '@rms/testkit';
import { callers } from '../src/callers.ts';
import { startAlerts } from './support.ts';

const services = [AlertsService, SecretsService, UsageService, WorkspaceDeletionService];

/** Methods that only `rms` may call, and only for an operator. */
const forOperators: readonly string[] = [
  'rms.alerts.v1.SecretsService/ReencryptSecrets',
  'rms.alerts.v1.WorkspaceDeletionService/DeleteContents',
];

testOperatorMethods({ callers, services, forOperators, start: startAlerts });
