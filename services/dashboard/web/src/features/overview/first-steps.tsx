import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAccount } from '../../api/account.ts';
import { useMay, useTenant } from '../../api/tenant.ts';
import { buttonClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Card } from '../../ui/page.tsx';
import { useKeys } from '../keys/key-queries.ts';
import { KeyLink } from '../keys/key-status.tsx';
import { firstRequest, keyForSteps, type Progress, shownText } from './steps.ts';

/** Instructions for a new environment. Finished steps are ticked. */
export function FirstSteps({ resources, webhooks }: Progress) {
  const tenant = useTenant();
  const { api_urls: urls } = useAccount();
  const mayReadKeys = useMay('keys:read');
  const mayWebhooks = useMay('webhooks:write');
  const keys = useKeys({}, mayReadKeys);
  const key = keyForSteps(keys.data?.data ?? []);
  if (mayReadKeys && keys.isPending) return null;
  return (
    <Card
      title={tenant.environment === 'live' ? 'First steps' : 'First steps in the sandbox'}
      about="From an API key to the first event at your endpoint."
    >
      <ol className="steps">
        {mayReadKeys ? (
          <Step done={key !== undefined}>
            {key ? (
              <p>
                The key <KeyLink of={key} /> (<code>{key.hint}</code>) can create resources. Its value was{' '}
                {shownText(key)}. If you do not have it, create another key.
              </p>
            ) : (
              <p>Create an API key with scope write or admin. Its value is shown only once.</p>
            )}
            <Link
              to="/w/$workspace/$environment/settings/keys"
              params={tenant}
              className={buttonClass(key ? 'normal' : 'main', true)}
            >
              API keys
            </Link>
          </Step>
        ) : null}
        <Step done={resources > 0}>
          <p>Create a resource with the API.</p>
          {resources > 0 ? null : (
            <CodeBlock text={firstRequest(urls[tenant.environment], key)} label="First request" />
          )}
        </Step>
        {mayWebhooks ? (
          <Step done={webhooks > 0}>
            <p>Create a webhook to receive events at your endpoint. Deliveries are signed, retried and logged.</p>
            {webhooks > 0 ? null : (
              <Link
                to="/w/$workspace/$environment/webhooks/new"
                params={tenant}
                className={buttonClass('normal', true)}
              >
                Create webhook
              </Link>
            )}
          </Step>
        ) : null}
      </ol>
    </Card>
  );
}

function Step({ done, children }: { readonly done: boolean; readonly children: ReactNode }) {
  return (
    <li data-done={done}>
      {done ? (
        <span className="step-done">
          <Icon name="check" /> Done
        </span>
      ) : null}
      {children}
    </li>
  );
}
