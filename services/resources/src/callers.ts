import { ResourcesService } from '@rms/proto/rms/resources/v1/resources_service_pb';
import { type Callers, forUsers } from '@rms/rpc';

/** The gateway calls on behalf of API keys, the dashboard on behalf of users. */
export const callers: Callers = {
  gateway: ResourcesService.methods,
  dashboard: forUsers(...ResourcesService.methods),
  rms: 'all',
};
