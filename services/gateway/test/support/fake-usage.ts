import { RmsError } from '@rms/errors';
import { type ReportUsageRequest, UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { rpcService } from '@rms/rpc';

/** Keeps what gateways report. */
export class FakeUsage {
  readonly reports: ReportUsageRequest[] = [];

  readonly service = rpcService(UsageService, {
    reportUsage: async (report) => {
      this.reports.push(report);
      return {};
    },
    getUsage: () => {
      throw new RmsError('internal_error', { cause: new Error('the gateway does not call this') });
    },
  });
}
