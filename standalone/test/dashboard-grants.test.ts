import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { callers as ofAlerts } from '../../services/alerts/src/callers.ts';
import { callers as ofAuth } from '../../services/auth/src/callers.ts';
import { callers as ofResources } from '../../services/resources/src/callers.ts';
import { callers as ofWebhooks } from '../../services/webhooks/src/callers.ts';

interface Method {
  readonly parent: { readonly name: string };
  readonly localName: string;
}

const root = join(import.meta.dirname, '..', '..');
/** The dashboard, and the API's endpoints that it serves with sessions. */
const sources = ['services/dashboard/src/**/*.ts', 'packages/api/src/**/*.ts'];
/** Endpoints that only the gateway serves. */
const exclude = ['packages/api/src/portal-session/**'];

/** The method that packages/api/src/backend.ts passes on without a call. */
const passedOn = 'resources.listResources';

/** Returns the RPCs in these sources ("signIn.checkSession"), by the dashboard's client names. */
function calledMethods(): Set<string> {
  const calls =
    /\b(?:(?:backend|clients)\.(?:team\.)?(\w+)\??|(signIn)|(alerts|usage)(?:Of\(backend\))?|(resources)(?=\.batch)|(portalSessions)(?=\.check))\.(\w+)\(/g;
  const found = globSync(sources, { cwd: root, exclude }).flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(calls)].map((match) => match.slice(1).filter(Boolean)),
  );
  return new Set([...found.map((names) => names.join('.')), passedOn]);
}

/** Returns the methods that services grant the dashboard, named as its clients name them. */
function grantedMethods(): Set<string> {
  const grants = [ofAlerts, ofAuth, ofResources, ofWebhooks].flatMap(({ dashboard }) => {
    if (!Array.isArray(dashboard)) throw new Error('the dashboard must be granted methods by name');
    return dashboard as readonly (Method | { readonly forUser: Method } | { readonly forKey: Method })[];
  });
  return new Set(
    grants.map((grant) => {
      const { parent, localName } = 'forUser' in grant ? grant.forUser : 'forKey' in grant ? grant.forKey : grant;
      const service = parent.name.replace(/Service$/, '');
      return `${service[0]?.toLowerCase()}${service.slice(1)}.${localName}`;
    }),
  );
}

test('the dashboard may call exactly the methods that it calls', () => {
  expect([...grantedMethods()].sort()).toEqual([...calledMethods()].sort());
});
