import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type ReportUsageRequest, UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { rpcService } from '@rms/rpc';

/** A usage service that stores the reports of gateways. */
export class FakeUsage {
  readonly reports: ReportUsageRequest[] = [];

  readonly service = rpcService(UsageService, {
    reportUsage: async (report) => {
      this.reports.push(report);
      return {};
    },
    getRequestMetrics: async ({ range }) => ({ points: [], total: { startTime: range?.from } }),
    getDeliveryMetrics: async ({ range }) => ({ points: [], total: { startTime: range?.from } }),
    getUsage: async () => {
      const [startTime, endTime] = [0, 1].map((ms) => timestampFromMs(ms));
      return { month: { startTime, endTime, used: 3n } };
    },
  });
}
