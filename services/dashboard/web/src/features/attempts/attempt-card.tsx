import type { AttemptDocument, HeaderDocument } from '../../../../src/documents/delivery.ts';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { durationText } from '../../ui/duration.ts';
import { Card, DescriptionList } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { resultText } from './delivery-status.tsx';

/** One HTTP call: request, response, and timings. */
export function AttemptCard({
  of: attempt,
  title,
  requestBody,
  url,
}: {
  readonly of: AttemptDocument;
  readonly title: string;
  readonly requestBody?: string;
  readonly url?: string | undefined;
}) {
  const { response_body: body } = attempt;
  const isDelivered = attempt.status_code === 200 && !attempt.error;
  const text = 'text' in body ? body.text : `(base64) ${body.base64}`;
  return (
    <Card title={title} actions={<Badge tone={isDelivered ? 'good' : 'bad'}>{resultText(attempt)}</Badge>}>
      <div className="stack">
        <DescriptionList
          of={[
            ['Started', <Time key="sent" at={attempt.started_at} />],
            ['Duration', durationText(attempt.duration_ms / 1000)],
            ['IP address', attempt.address ? <code key="address">{attempt.address}</code> : 'not connected'],
            ['Result', isDelivered ? 'delivered' : (attempt.error ?? 'not 200')],
          ]}
        />
        <PhaseBar of={attempt} />
        {attempt.request_headers.length > 0 ? (
          <CodeBlock
            label="Request"
            text={`POST ${url ?? ''}\n${messageText(attempt.request_headers, requestBody ?? '')}`}
          />
        ) : null}
        {attempt.status_code === null && text === '' ? null : (
          <CodeBlock
            label="Response"
            text={`${attempt.status_code === null ? 'not HTTP' : `HTTP ${attempt.status_code}`}\n${messageText(attempt.response_headers, text)}`}
          />
        )}
      </div>
    </Card>
  );
}

function messageText(headers: readonly HeaderDocument[], body: string): string {
  const lines = headers.map(({ name, value }) => `${name}: ${value}`);
  return body === '' ? lines.join('\n') : `${lines.join('\n')}\n\n${body}`;
}

/** Bar with the duration of each phase of a call. A reused connection has no DNS, connect or TLS phase. */
function PhaseBar({ of: attempt }: { readonly of: AttemptDocument }) {
  const known = attempt.dns_ms + attempt.connect_ms + attempt.tls_ms + attempt.first_byte_ms;
  const parts = [
    ['dns', 'DNS', attempt.dns_ms],
    ['connect', 'connection', attempt.connect_ms],
    ['tls', 'TLS', attempt.tls_ms],
    ['wait', 'first byte', attempt.first_byte_ms],
    ['read', 'response body', Math.max(0, attempt.duration_ms - known)],
  ] as const;
  const total = parts.reduce((sum, [, , ms]) => sum + ms, 0);
  if (total === 0) return null;
  const shown = parts.filter(([, , ms]) => ms > 0);
  let at = 0;
  return (
    <figure className="stack-small">
      <svg className="split" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        {shown.map(([name, , ms]) => {
          const x = at;
          at += (ms / total) * 1000;
          return <rect key={name} className={`part-${name}`} x={x} y="0" width={at - x} height="10" />;
        })}
      </svg>
      <figcaption className="legend">
        {shown.map(([name, text, ms]) => (
          <span key={name}>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className={`part-${name}`} width="10" height="10" rx="2" />
            </svg>
            {text} {ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Returns a curl command that sends the same request. */
export function curlText(url: string, { request_headers: headers }: AttemptDocument, body: string): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  // Headers that curl adds itself.
  const own = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'accept-encoding']);
  const lines = headers
    .filter(({ name }) => !own.has(name.toLowerCase()))
    .map(({ name, value }) => `  -H ${quote(`${name}: ${value}`)}`);
  return [`curl -i ${quote(url)}`, ...lines, `  --data-binary ${quote(body)}`].join(' \\\n');
}
