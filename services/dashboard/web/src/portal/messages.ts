/** Texts of the portal's own pages, in English. Another language is another object of this type. */
export const messages = {
  webhooks: 'Webhooks',
  deliveries: 'Delivery logs',
  pages: 'Pages',
  skip: 'Skip to content',
  back: 'Back to {host}',
  sandbox: 'Sandbox: test data.',
  notFoundTitle: 'Page not found',
  notFound: 'The object may have been deleted.',
  toWebhooks: 'Go to webhooks',
  endedTitle: 'Your session has ended',
  linkTitle: 'This link does not work',
  failedTitle: 'This page could not be loaded',
  reopen: 'Open this page again from the application that you came from.',
} as const;

/** Replaces a message's placeholders ("{host}"). */
export function fill(message: string, values: Readonly<Record<string, string>>): string {
  return message.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => values[name] ?? placeholder);
}
