import type { LimitsDocument } from '../../../../src/documents/limits.ts';
import { webhookTexts } from '../../texts/webhooks.ts';

type Limits<Field extends keyof LimitsDocument> = Pick<LimitsDocument, Field> | undefined;

/** Hint for a webhook's URL. */
export function webhookUrlHint(limits: Limits<'webhook_urls'>): string {
  const texts = webhookTexts();
  if (!limits) return texts.urlResponse;
  const { http, private_networks: hasPrivate } = limits.webhook_urls;
  const urls = hasPrivate ? texts.permittedUrl : texts.publicUrl;
  return `${http ? urls.http : urls.https} ${texts.urlResponse}`;
}

/** Sentence about the maximum number of webhooks. Empty without a limit. */
export function webhookCountText(limits: Limits<'max_webhooks'>): string {
  const most = limits?.max_webhooks ?? 0;
  return most === 0 ? '' : webhookTexts().webhookLimit(most);
}

/** Clause about a webhook that was disabled because its endpoint failed. */
export function failingText(limits: Limits<'webhook_disable_after_hours'>): string {
  const { failing, failingFor } = webhookTexts().reasons;
  const hours = limits?.webhook_disable_after_hours ?? 0;
  return hours === 0 ? failing : failingFor(hours * 3_600);
}
