import type { ReactNode } from 'react';
import { numberText, plural } from './numbers.ts';
import { part } from './part.ts';
import { rich } from './rich.ts';

/** Texts of shared components. */
export const uiTexts = part({
  documentTitle: (title: string) => `${title} · rms`,
  webhooks: 'Webhooks',
  deliveries: 'Delivery logs',
  breadcrumb: 'Breadcrumb',
  actions: 'Actions',
  selectAll: 'Select all',
  select: (id: string) => `Select ${id}`,
  total: (count: number) => `${numberText(count)} in total`,
  previous: 'Previous',
  next: 'Next',
  close: 'Close',
  closeMessage: 'Close message',
  cancel: 'Cancel',
  copy: 'Copy',
  copyId: 'Copy ID',
  copied: 'Copied',
  notCopied: 'Not copied',
  typeToConfirm: (name: string) => `Type ${name} to confirm`,
  filters: 'Filters',
  clearFilters: 'Clear filters',
  changeFilters: 'Change the filters.',
  since: 'Since',
  until: 'Until',
  liveTail: 'Live tail',
  ranges: {
    hour: 'Last hour',
    day: 'Last 24 hours',
    days: (days: number) => plural(days, { one: 'Last # day', other: 'Last # days' }),
  },
  utc: (time: string) => `${time} UTC`,
  never: 'never',
  none: 'none',
  units: {
    ms: (count: string) => `${count} ms`,
    s: (count: string) => `${count} s`,
    min: (count: string) => `${count} min`,
    h: (count: string) => `${count} h`,
    d: (count: string) => `${count} d`,
  },
  percent: (share: string) => `${share} %`,
  pageFailed: 'This page could not be loaded',
  tryAgain: 'Try again',
  pageError: 'An error occurred on this page.',
  requestId: (id: ReactNode) => rich`Request ID ${id}`,
  reloadPage: 'Reload page',
  signIn: 'Sign in in a new tab',
  thenRepeat: 'Then repeat the action here.',
  offline: 'The dashboard is unreachable. Check your network connection.',
  unreadable: (status: number) => `The response could not be read (HTTP ${status}).`,
  otherUser: (email: string, before: string) =>
    `In another tab, this browser has signed in as ${email}. Reload the page to continue as this user. To keep ` +
    `your input, first sign in as ${before} again in another tab, and repeat the action.`,
});
