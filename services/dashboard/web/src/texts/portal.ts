import { part } from './part.ts';

/** Texts of the portal's own pages. */
export const portalTexts = part({
  pages: 'Pages',
  skip: 'Skip to content',
  back: (host: string) => `Back to ${host}`,
  sandbox: 'Sandbox: test data.',
  notFoundTitle: 'Page not found',
  notFound: 'The object may have been deleted.',
  toWebhooks: 'Go to webhooks',
  endedTitle: 'Your session has ended',
  linkTitle: 'This link does not work',
  reopen: 'Open this page again from the application that you came from.',
});
