import { attemptTexts } from './attempts.ts';
import { deliveryTexts } from './deliveries.ts';
import { setLanguage } from './numbers.ts';
import type { Part } from './part.ts';
import { portalTexts } from './portal.ts';
import { uiTexts } from './ui.ts';
import { webhookTexts } from './webhooks.ts';

/** The catalog's parts, by name. */
export const parts = {
  ui: uiTexts,
  portal: portalTexts,
  webhooks: webhookTexts,
  attempts: attemptTexts,
  deliveries: deliveryTexts,
};

/** Every text that the portal shows, in one language. */
export type Catalog = { readonly [Name in keyof typeof parts]: ReturnType<(typeof parts)[Name]> };

/** Shows the pages in another language than English. Call it before the first page is rendered. */
export function translate(language: string, catalog: Catalog): void {
  setLanguage(language);
  for (const [name, texts] of Object.entries(catalog)) (parts[name as keyof Catalog] as Part<object>).translate(texts);
}
