import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import type { PortalDocument } from '../../../src/documents/portal.ts';
import { ErrorPage } from '../layout/error-page.tsx';
import { deliverySearch, formatSearch, parseSearch, webhookSearch } from '../search.ts';
import { PortalNotFound, PortalShell } from './portal-pages.tsx';

/**
 * Creates the router of a session's pages. Their routes are the dashboard's (router.tsx), below "/portal", so that both
 * show the same components.
 */
export function createPortalRouter(session: PortalDocument) {
  const { workspace, environment } = session;
  const toWebhooks = () => redirect({ to: '/w/$workspace/$environment/webhooks', params: { workspace, environment } });
  const root = createRootRoute({ component: Outlet, notFoundComponent: PortalNotFound });
  const home = createRoute({
    getParentRoute: () => root,
    path: '/',
    beforeLoad() {
      throw toWebhooks();
    },
  });
  const tenant = createRoute({
    getParentRoute: () => root,
    path: '/w/$workspace/$environment',
    beforeLoad({ params }) {
      // An address of an earlier session.
      if (params.workspace !== workspace || params.environment !== environment) throw toWebhooks();
    },
    component: () => <PortalShell of={session} />,
  });
  const webhooks = createRoute({
    getParentRoute: () => tenant,
    path: '/webhooks',
    validateSearch: webhookSearch,
    component: lazyRouteComponent(() => import('../features/webhooks/webhooks-page.tsx'), 'WebhooksPage'),
  });
  const newWebhook = createRoute({
    getParentRoute: () => tenant,
    path: '/webhooks/new',
    component: lazyRouteComponent(() => import('../features/webhooks/new-webhook-page.tsx'), 'NewWebhookPage'),
  });
  const webhook = createRoute({
    getParentRoute: () => tenant,
    path: '/webhooks/$id',
    component: lazyRouteComponent(() => import('../features/webhooks/webhook-page.tsx'), 'WebhookPage'),
  });
  const deliveries = createRoute({
    getParentRoute: () => tenant,
    path: '/deliveries',
    validateSearch: deliverySearch,
    component: lazyRouteComponent(() => import('../features/deliveries/deliveries-page.tsx'), 'DeliveriesPage'),
  });
  const delivery = createRoute({
    getParentRoute: () => tenant,
    path: '/deliveries/$id',
    component: lazyRouteComponent(() => import('../features/deliveries/delivery-page.tsx'), 'DeliveryPage'),
  });
  return createRouter({
    routeTree: root.addChildren([home, tenant.addChildren([webhooks, newWebhook, webhook, deliveries, delivery])]),
    basepath: '/portal',
    parseSearch,
    stringifySearch: formatSearch,
    scrollRestoration: true,
    defaultErrorComponent: ({ error }) => <ErrorPage error={error} />,
    defaultNotFoundComponent: PortalNotFound,
  });
}
