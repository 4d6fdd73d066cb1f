import { Link } from '@tanstack/react-router';
import { useAccount } from '../../api/account.ts';
import { useMay, useTenant } from '../../api/tenant.ts';
import { buttonClass } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Card } from '../../ui/page.tsx';

/** Instructions for an empty environment. */
export function FirstSteps() {
  const tenant = useTenant();
  const { api_urls: urls } = useAccount();
  const mayKeys = useMay('keys.write');
  const mayWebhooks = useMay('webhooks.write');
  const call = [
    `curl -s ${urls[tenant.environment]}/v1/resources -X POST \\`,
    '  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\',
    `  -d '{"name": "My first resource"}'`,
  ];
  return (
    <Card
      title={tenant.environment === 'live' ? 'First steps' : 'First steps in the sandbox'}
      about="There are no resources or webhooks yet."
    >
      <ol className="steps">
        {mayKeys ? (
          <li>
            <p>Create an API key. Its value is shown only once.</p>
            <Link to="/w/$workspace/$environment/settings/keys" params={tenant} className={buttonClass('main', true)}>
              API keys
            </Link>
          </li>
        ) : null}
        <li>
          <p>Call the API with the key.</p>
          <CodeBlock text={call.join('\n')} label="First request" />
        </li>
        {mayWebhooks ? (
          <li>
            <p>Create a webhook to receive events at your endpoint. Deliveries are signed, retried and logged.</p>
            <Link to="/w/$workspace/$environment/webhooks/new" params={tenant} className={buttonClass('normal', true)}>
              Create webhook
            </Link>
          </li>
        ) : null}
      </ol>
    </Card>
  );
}
