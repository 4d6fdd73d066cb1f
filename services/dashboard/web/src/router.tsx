import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { accountQuery } from './api/account.ts';
import { ApiError } from './api/client.ts';
import { queryClient } from './api/query-client.ts';
import { Failed } from './layout/failed.tsx';
import { NotHere } from './layout/not-here.tsx';
import { Shell } from './layout/shell.tsx';
import { textSearch } from './search.ts';

/** The account, or the way to where one signs in. */
async function requireAccount({ location }: { readonly location: { readonly href: string } }) {
  try {
    return await queryClient.ensureQueryData(accountQuery);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      throw redirect({ to: '/sign-in', search: { next: location.href } });
    }
    throw error;
  }
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotHere });

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  async beforeLoad(given) {
    const { workspaces } = await requireAccount(given);
    const [first] = workspaces;
    if (!first) throw redirect({ to: '/account' });
    throw redirect({ to: '/w/$workspace/$environment', params: { workspace: first.id, environment: 'live' } });
  },
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: textSearch('next', 'step', 'failed'),
  component: lazyRouteComponent(() => import('./pages/sign-in.tsx'), 'SignInPage'),
});

const forgotten = createRoute({
  getParentRoute: () => root,
  path: '/forgot-password',
  component: lazyRouteComponent(() => import('./pages/forgot-password.tsx'), 'ForgotPasswordPage'),
});

const reset = createRoute({
  getParentRoute: () => root,
  path: '/password-reset',
  component: lazyRouteComponent(() => import('./pages/password-reset.tsx'), 'PasswordResetPage'),
});

const emailChange = createRoute({
  getParentRoute: () => root,
  path: '/email-change',
  component: lazyRouteComponent(() => import('./pages/email-change.tsx'), 'EmailChangePage'),
});

const invitation = createRoute({
  getParentRoute: () => root,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./pages/invitation.tsx'), 'InvitationPage'),
});

const unsubscribe = createRoute({
  getParentRoute: () => root,
  path: '/unsubscribe',
  validateSearch: textSearch('token'),
  component: lazyRouteComponent(() => import('./pages/unsubscribe.tsx'), 'UnsubscribePage'),
});

const account = createRoute({
  getParentRoute: () => root,
  path: '/account',
  beforeLoad: requireAccount,
  component: lazyRouteComponent(() => import('./pages/account.tsx'), 'AccountPage'),
});

const tenant = createRoute({
  getParentRoute: () => root,
  path: '/w/$workspace/$environment',
  async beforeLoad(given) {
    const { environment } = given.params;
    if (environment !== 'live' && environment !== 'sandbox') throw redirect({ to: '/' });
    await requireAccount(given);
  },
  component: Shell,
});

const overview = createRoute({
  getParentRoute: () => tenant,
  path: '/',
  validateSearch: textSearch('span'),
  component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'OverviewPage'),
});

const keys = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/keys',
  validateSearch: textSearch('show'),
  component: lazyRouteComponent(() => import('./pages/keys.tsx'), 'KeysPage'),
});

const key = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/keys/$id',
  component: lazyRouteComponent(() => import('./pages/key.tsx'), 'KeyPage'),
});

const webhooks = createRoute({
  getParentRoute: () => tenant,
  path: '/webhooks',
  validateSearch: textSearch('cursor'),
  component: lazyRouteComponent(() => import('./pages/webhooks.tsx'), 'WebhooksPage'),
});

const newWebhook = createRoute({
  getParentRoute: () => tenant,
  path: '/webhooks/new',
  component: lazyRouteComponent(() => import('./pages/new-webhook.tsx'), 'NewWebhookPage'),
});

const webhook = createRoute({
  getParentRoute: () => tenant,
  path: '/webhooks/$id',
  component: lazyRouteComponent(() => import('./pages/webhook.tsx'), 'WebhookPage'),
});

const deliveries = createRoute({
  getParentRoute: () => tenant,
  path: '/deliveries',
  validateSearch: textSearch(
    'webhook',
    'status',
    'type',
    'request',
    'resource',
    'event',
    'since',
    'until',
    'cursor',
    'live',
  ),
  component: lazyRouteComponent(() => import('./pages/deliveries.tsx'), 'DeliveriesPage'),
});

const delivery = createRoute({
  getParentRoute: () => tenant,
  path: '/deliveries/$id',
  component: lazyRouteComponent(() => import('./pages/delivery.tsx'), 'DeliveryPage'),
});

const resources = createRoute({
  getParentRoute: () => tenant,
  path: '/resources',
  validateSearch: textSearch('status', 'sort', 'name', 'cursor'),
  component: lazyRouteComponent(() => import('./pages/resources.tsx'), 'ResourcesPage'),
});

const resource = createRoute({
  getParentRoute: () => tenant,
  path: '/resources/$id',
  validateSearch: textSearch('cursor'),
  component: lazyRouteComponent(() => import('./pages/resource.tsx'), 'ResourcePage'),
});

const requests = createRoute({
  getParentRoute: () => tenant,
  path: '/requests',
  validateSearch: textSearch('id'),
  component: lazyRouteComponent(() => import('./pages/requests.tsx'), 'RequestsPage'),
});

const team = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/team',
  component: lazyRouteComponent(() => import('./pages/team.tsx'), 'TeamPage'),
});

const limits = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/limits',
  component: lazyRouteComponent(() => import('./pages/limits.tsx'), 'LimitsPage'),
});

const alerts = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/alerts',
  validateSearch: textSearch('cursor'),
  component: lazyRouteComponent(() => import('./pages/alerts.tsx'), 'AlertsPage'),
});

const audit = createRoute({
  getParentRoute: () => tenant,
  path: '/settings/audit',
  validateSearch: textSearch('target', 'action', 'cursor'),
  component: lazyRouteComponent(() => import('./pages/audit.tsx'), 'AuditPage'),
});

const routeTree = root.addChildren([
  home,
  signIn,
  forgotten,
  reset,
  emailChange,
  invitation,
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
    requests,
    team,
    alerts,
    limits,
    audit,
  ]),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error }) => <Failed error={error} />,
  defaultNotFoundComponent: NotHere,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
