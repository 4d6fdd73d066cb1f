import type { Attempt } from '@rms/api';
import { attemptTexts } from '../../texts/attempts.ts';
import { durationText } from '../../texts/measures.ts';
import { numberText } from '../../texts/numbers.ts';
import { uiTexts } from '../../texts/ui.ts';
import { Badge } from '../../ui/badge.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Card, DescriptionList } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { resultText } from './delivery-status.tsx';

/** Attempts of deliveries and of test events. */
type AnyAttempt = Omit<Attempt, 'number'>;

/** One HTTP call: request, response, and timings. */
export function AttemptCard({
  of: attempt,
  title,
  requestBody,
  url,
}: {
  readonly of: AnyAttempt;
  readonly title: string;
  readonly requestBody?: string;
  readonly url?: string | undefined;
}) {
  const texts = attemptTexts();
  const { request, response } = attempt;
  const status = response?.status || null;
  const isDelivered = status === 200 && !attempt.error;
  const text = response?.body_encoding === 'base64' ? texts.base64(response.body) : (response?.body ?? '');
  return (
    <Card
      title={title}
      actions={<Badge tone={isDelivered ? 'good' : 'bad'}>{resultText({ status, error: attempt.error })}</Badge>}
    >
      <div className="stack">
        <DescriptionList
          of={[
            [texts.started, <Time key="sent" at={attempt.started_at} />],
            [texts.duration, durationText(attempt.duration_ms / 1000)],
            [
              texts.address,
              attempt.remote_address ? <code key="address">{attempt.remote_address}</code> : texts.notConnected,
            ],
            [texts.result, isDelivered ? texts.delivered : (attempt.error ?? texts.notDelivered)],
          ]}
        />
        <PhaseBar of={attempt} />
        {Object.keys(request.headers).length > 0 ? (
          <CodeBlock
            label={texts.request}
            text={messageText(`POST ${url ?? ''}`, request.headers, requestBody ?? '')}
          />
        ) : null}
        {response === null ? null : (
          <CodeBlock
            label={texts.response}
            text={messageText(status === null ? texts.notHttp : `HTTP ${status}`, response.headers, text)}
          />
        )}
      </div>
    </Card>
  );
}

/** Formats milliseconds: short times with a fraction. */
function msText(ms: number): string {
  const digits = ms < 10 ? 1 : 0;
  return numberText(ms, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function messageText(start: string, headers: Attempt['request']['headers'], body: string): string {
  const lines = [start, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
  return body === '' ? lines.join('\n') : `${lines.join('\n')}\n\n${body}`;
}

/** Bar with the duration of each phase of a call. A reused connection has no DNS, connect or TLS phase. */
function PhaseBar({ of: attempt }: { readonly of: AnyAttempt }) {
  const { dns_ms: dns, connect_ms: connect, tls_ms: tls, first_byte_ms: firstByte } = attempt.timing;
  const known = dns + connect + tls + firstByte;
  const parts = [
    ['dns', dns],
    ['connect', connect],
    ['tls', tls],
    ['wait', firstByte],
    ['read', Math.max(0, attempt.duration_ms - known)],
  ] as const;
  const total = parts.reduce((sum, [, ms]) => sum + ms, 0);
  if (total === 0) return null;
  const shown = parts.filter(([, ms]) => ms > 0);
  let at = 0;
  return (
    <figure className="stack-small">
      <svg className="split" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
        {shown.map(([name, ms]) => {
          const x = at;
          at += (ms / total) * 1000;
          return <rect key={name} className={`part-${name}`} x={x} y="0" width={at - x} height="10" />;
        })}
      </svg>
      <figcaption className="legend">
        {shown.map(([name, ms]) => (
          <span key={name}>
            <svg viewBox="0 0 10 10" aria-hidden="true">
              <rect className={`part-${name}`} width="10" height="10" rx="2" />
            </svg>
            {attemptTexts().phases[name]} {uiTexts().units.ms(msText(ms))}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Returns a curl command that sends the same request. */
export function curlText(url: string, { request: { headers } }: AnyAttempt, body: string): string {
  const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  // Headers that curl adds itself.
  const own = new Set(['host', 'content-length', 'connection', 'transfer-encoding', 'accept-encoding']);
  const lines = Object.entries(headers)
    .filter(([name]) => !own.has(name.toLowerCase()))
    .map(([name, value]) => `  -H ${quote(`${name}: ${value}`)}`);
  return [`curl -i ${quote(url)}`, ...lines, `  --data-binary ${quote(body)}`].join(' \\\n');
}
