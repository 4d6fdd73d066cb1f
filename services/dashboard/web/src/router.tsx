import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { accountQuery } from './api/account.ts';
import { ApiError } from './api/client.ts';
import { queryClient } from './api/query-client.ts';
import { ErrorPage } from './layout/error-page.tsx';
import { NotFoundPage } from './layout/not-found-page.tsx';
import { Shell } from './layout/shell.tsx';
import { deliverySearch, environmentOf, formatSearch, parseSearch, textSearch, webhookSearch } from './search.ts';

/** Returns the account, or redirects to the sign-in page. */
async function requireAccount({ location }: { readonly location: { readonly href: string } }) {
  try {
    return await queryClient.ensureQueryData(accountQuery);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      const step = error.code === 'second_factor_required' ? { step: 'second_factor' } : {};
      throw redirect({ to: '/sign-in', search: { next: location.href, ...step } });
    }
    throw error;
  }
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFoundPage });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  async beforeLoad(match) {
    const { workspaces } = await requireAccount(match);
    const [first] = workspaces;
    if (!first) throw redirect({ to: '/account' });
    throw redirect({ to: '/w/$workspace/$environment', params: { workspace: first.id, environment: 'live' } });
  },
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: textSearch('next', 'step', 'failed', 'reason'),
  component: lazyRouteComponent(() => import('./features/sign-in/sign-in-page.tsx'), 'SignInPage'),
});

const forgotPassword = createRoute({
  getParentRoute: () => root,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./features/sign-in/forgot-password-page.tsx'), 'ForgotPasswordPage'),
});

const passwordReset = createRoute({
  getParentRoute: () => root,
  path: '/password-reset',
  component: lazyRouteComponent(() => import('./features/sign-in/password-reset-page.tsx'), 'PasswordResetPage'),
});

const emailChange = createRoute({
  getParentRoute: () => root,
  path: '/email-change',
  component: lazyRouteComponent(() => import('./features/account/email-change-page.tsx'), 'EmailChangePage'),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./features/team/invitation-page.tsx'), 'InvitationPage'),
});

const alertRecipient = createRoute({
  getParentRoute: () => root,
  path: '/alert-recipient',
  component: lazyRouteComponent(() => import('./features/alerts/alert-recipient-page.tsx'), 'AlertRecipientPage'),
});

const unsubscribe = createRoute({
  getParentRoute: () => root,
  path: '/unsubscribe',
  validateSearch: textSearch('token'),
  component: lazyRouteComponent(() => import('./features/alerts/unsubscribe-page.tsx'), 'UnsubscribePage'),
});

const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  beforeLoad: requireAccount,
  component: lazyRouteComponent(() => import('./features/account/account-page.tsx'), 'AccountPage'),
});

const tenant = createRoute({
  getParentRoute: () => root,
  path: '/w/$workspace/$environment',
  async beforeLoad(match) {
    const { workspace, environment: name } = match.params;
    const environment = environmentOf(name);
    if (!environment) throw notFound();
    if (environment !== name) {
      const rest = match.location.href.split('/').slice(4);
      throw redirect({ href: ['/w', encodeURIComponent(workspace), environment, ...rest].join('/') });
    }
    await requireAccount(match);
  },
  component: Shell,
});

const overview = createRoute({
  getParentRoute: () => tenant,
  path: '/',
  validateSearch: textSearch('span', 'since', 'until'),
  component: lazyRouteComponent(() => import('./features/overview/overview-page.tsx'), 'OverviewPage'),
});

const keys = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/keys',
  validateSearch: textSearch('show', 'cursor'),
  component: lazyRouteComponent(() => import('./features/keys/keys-page.tsx'), 'KeysPage'),
});

const key = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/keys/$id',
  component: lazyRouteComponent(() => import('./features/keys/key-page.tsx'), 'KeyPage'),
});

const webhooks = createRoute({
  getParentRoute: () => tenant,
  path: '/webhooks',
  validateSearch: webhookSearch,
  component: lazyRouteComponent(() => import('./features/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
});

const newWebhook = createRoute({
  getParentRoute: () => tenant,
  path: '/webhooks/new',
  component: lazyRouteComponent(() => import('./features/webhooks/new-webhook-page.tsx'), 'NewWebhookPage'),
});

const webhook = createRoute({
  getParentRoute: () => tenant,
  path: '/webhooks/$id',
  component: lazyRouteComponent(() => import('./features/webhooks/webhook-page.tsx'), 'WebhookPage'),
});

const deliveries = createRoute({
  getParentRoute: () => tenant,
  path: '/deliveries',
  validateSearch: deliverySearch,
  component: lazyRouteComponent(() => import('./features/deliveries/deliveries-page.tsx'), 'DeliveriesPage'),
});

const delivery = createRoute({
  getParentRoute: () => tenant,
  path: '/deliveries/$id',
  component: lazyRouteComponent(() => import('./features/deliveries/delivery-page.tsx'), 'DeliveryPage'),
});

const resources = createRoute({
  getParentRoute: () => tenant,
  path: '/resources',
  validateSearch: textSearch('status', 'sort', 'name', 'metadata', 'cursor'),
  component: lazyRouteComponent(() => import('./features/resources/resources-page.tsx'), 'ResourcesPage'),
});

const resource = createRoute({
  getParentRoute: () => tenant,
  path: '/resources/$id',
  validateSearch: textSearch('cursor'),
  component: lazyRouteComponent(() => import('./features/resources/resource-page.tsx'), 'ResourcePage'),
});

const events = createRoute({
  getParentRoute: () => tenant,
  path: '/events',
  validateSearch: textSearch('type', 'resource', 'since', 'until', 'cursor', 'live'),
  component: lazyRouteComponent(() => import('./features/events/events-page.tsx'), 'EventsPage'),
});

const event = createRoute({
  getParentRoute: () => tenant,
  path: '/events/$id',
  component: lazyRouteComponent(() => import('./features/events/event-page.tsx'), 'EventPage'),
});

const requests = createRoute({
  getParentRoute: () => tenant,
  path: '/requests',
  validateSearch: textSearch(
    'id',
    'status',
    'method',
    'route',
    'error',
    'key',
    'user',
    'ip',
    'since',
    'until',
    'cursor',
    'live',
  ),
  component: lazyRouteComponent(() => import('./features/requests/requests-page.tsx'), 'RequestsPage'),
});

const team = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/team',
  component: lazyRouteComponent(() => import('./features/team/team-page.tsx'), 'TeamPage'),
});

const limits = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/limits',
  component: lazyRouteComponent(() => import('./features/limits/limits-page.tsx'), 'LimitsPage'),
});

const alerts = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/alerts',
  validateSearch: textSearch('status', 'cursor'),
  component: lazyRouteComponent(() => import('./features/alerts/alerts-page.tsx'), 'AlertsPage'),
});

const audit = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/audit',
  validateSearch: textSearch('actor', 'environment', 'since', 'until', 'target', 'action', 'cursor'),
  component: lazyRouteComponent(() => import('./features/audit/audit-page.tsx'), 'AuditPage'),
});

const routeTree = root.addChildren([
  home,
  signIn,
  forgotPassword,
  passwordReset,
  emailChange,
  invitation,
  alertRecipient,
  unsubscribe,
  account,
  tenant.addChildren([
    overview,
    keys,
    key,
    webhooks,
    newWebhook,
    webhook,
    deliveries,
    delivery,
    resources,
    resource,
    events,
    event,
    requests,
    team,
    alerts,
    limits,
    audit,
  ]),
]);

export const router = createRouter({
  routeTree,
  parseSearch,
  stringifySearch: formatSearch,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error }) => <ErrorPage error={error} />,
  defaultNotFoundComponent: NotFoundPage,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
