import { Link } from '@tanstack/react-router';
import { useAccount } from '../api/account.ts';
import { useMay, useTenant } from '../api/tenant.ts';
import { buttonClass } from '../ui/button.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { Card } from '../ui/page.tsx';

/** What to do where nothing has happened yet. */
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
      about="Nothing has been made here yet."
    >
      <ol className="steps">
        {mayKeys ? (
          <li>
            <p>Create an API key. It is shown once.</p>
            <Link to="/w/$workspace/$environment/settings/keys" params={tenant} className={buttonClass('main', true)}>
              API keys
            </Link>
          </li>
        ) : null}
        <li>
          <p>Call the API with it.</p>
          <CodeBlock text={call.join('\n')} label="A first request" />
        </li>
        {mayWebhooks ? (
          <li>
            <p>Have your endpoint called when something happens: signed, retried and logged.</p>
            <Link to="/w/$workspace/$environment/webhooks/new" params={tenant} className={buttonClass('normal', true)}>
              Create webhook
            </Link>
          </li>
        ) : null}
      </ol>
    </Card>
  );
}
