import type { Firsts } from './bootstrap.ts';

/** What a person who has just started the service needs to know. */
export interface Running extends Firsts {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly dashboardUrl: string;
  readonly dataDir: string;
  readonly postgres: 'embedded' | 'external';
}

/** The text that npm start ends with. The commands work when pasted. */
export function announcement({ liveUrl, sandboxUrl, dashboardUrl, dataDir, postgres, keys, login }: Running): string {
  const lines = [
    '',
    'rms is ready.',
    '',
    `  live      ${liveUrl}`,
    `  sandbox   ${sandboxUrl}`,
    `  dashboard ${dashboardUrl}`,
    `  API docs  ${liveUrl}/docs`,
    `  data      ${postgres === 'embedded' ? `${dataDir} (embedded PostgreSQL)` : 'in the PostgreSQL of DATABASE_URL'}`,
    '',
  ];
  if (login) {
    lines.push(
      'Login of the first owner, shown this once:',
      '',
      `  e-mail    ${login.email}`,
      `  password  ${login.password}`,
      '',
    );
  }
  if (keys) {
    lines.push(
      'Admin keys, shown this once:',
      '',
      `  live      ${keys.live}`,
      `  sandbox   ${keys.sandbox}`,
      '',
      'Try, in another terminal:',
      '',
      `  KEY=${keys.live}`,
      `  curl -s ${liveUrl}/v1/resources -H "Authorization: Bearer $KEY" \\`,
      `    -H 'Content-Type: application/json' -d '{"name": "My first resource"}'`,
      `  curl -s ${liveUrl}/v1/resources -H "Authorization: Bearer $KEY"`,
    );
  } else {
    lines.push(
      'A new key, in another terminal:',
      '',
      '  npm run -s rms -- keys create --environment live --scope admin --name mine',
    );
  }
  lines.push('', 'Ctrl-C stops; the data stay.', '');
  return lines.join('\n');
}

/** A URL that works on this machine for a listener that may be bound to all its addresses. */
export function localUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
