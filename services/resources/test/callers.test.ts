import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { WorkspaceDeletionService } from '@rms/proto/rms/resources/v1/workspace_deletion_service_pb';
import { testOperatorMethods } from '@rms/testkit';
import { callers } from '../src/callers.ts';
import { startResources } from './support.ts';

const services = [ResourcesService, WorkspaceDeletionService];

/** Methods that only `rms` may call, and only for an operator. */
const forOperators: readonly string[] = [
  'rms.resources.v1.WorkspaceDeletionService/CountContents',
  'rms.resources.v1.WorkspaceDeletionService/DeleteContents',
];

testOperatorMethods({ callers, services, forOperators, start: startResources });
