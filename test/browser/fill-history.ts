import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryDimension } from '@rms/proto/rms/alerts/v1/usage_pb';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { addLatency, noLatencies } from '@rms/reporting/usage';
import { type ClientOptions, createClient } from '@rms/rpc';

const hourMs = 3_600_000;
const monthlyQuota = 1_000_000;
/** Deterministic pseudo-random values, so that the history is always the same. */
const wave = (i: number, step: number) => 0.5 + 0.5 * Math.sin(i * step);

/** Reports a month of usage by hour, and its last hour by minute, as the gateways and webhooks do. */
export async function reportHistory(
  options: ClientOptions,
  tenant: { readonly workspaceId: string; readonly environment: Environment },
  webhookIds: readonly string[],
): Promise<void> {
  const usage = createClient(UsageService, options);
  const nowMs = Date.now();
  const requests: object[] = [];
  const deliveries: object[] = [];
  const deliveryGroups: object[] = [];
  const add = (atMs: number, scale: number, i: number) => {
    const hour = new Date(atMs).getUTCHours();
    const busy = 0.35 + 0.65 * Math.max(0, Math.sin(((hour - 5) / 24) * 2 * Math.PI));
    const all = Math.round(scale * (busy * 700 + wave(i, 1.7) * 160));
    const latencies = noLatencies();
    for (let n = 0; n < 40; n += 1) addLatency(latencies, 4 + wave(n, 2.3) * 14 + (n > 36 ? 20 + 60 * busy : 0));
    const time = timestampFromMs(atMs);
    requests.push({
      ...tenant,
      time,
      requests: BigInt(all),
      admitted: BigInt(all),
      clientErrors: BigInt(Math.round(all * 0.02 * wave(i, 0.9))),
      serverErrors: BigInt(i % 31 === 5 ? Math.round(all * 0.03) : 0),
      latencies: latencies.map(BigInt),
      monthlyQuota: BigInt(monthlyQuota),
    });
    for (const [index, webhookId] of webhookIds.entries()) {
      const attempts = Math.round((all * 0.3) / (index + 1));
      const failedAttempts = Math.round(attempts * (index === 1 ? 0.2 : 0.01));
      for (const [name, count] of [
        ['success', attempts - failedAttempts],
        ['5xx', failedAttempts],
      ] as const) {
        const counts = { ...tenant, time, webhookId, attempts: BigInt(count), latencies: latencies.map(BigInt) };
        deliveryGroups.push({ dimension: DeliveryDimension.OUTCOME, name, counts });
      }
      deliveries.push({
        ...tenant,
        time,
        webhookId,
        created: BigInt(attempts),
        attempts: BigInt(attempts),
        failedAttempts: BigInt(failedAttempts),
        delivered: BigInt(attempts - failedAttempts),
        failed: BigInt(Math.round(failedAttempts / 5)),
        latencies: latencies.map(BigInt),
      });
    }
  };
  for (let i = 30 * 24; i > 1; i -= 1) add(nowMs - i * hourMs, 1, i);
  for (let i = 58; i > 0; i -= 1) add(nowMs - i * 60_000, 1 / 24, i);
  await usage.reportUsage({ reporterId: 'history', sequence: 1n, requests, deliveries });
  await usage.reportUsage({ reporterId: 'history', sequence: 2n, deliveryGroups });
  usage.close();
}
