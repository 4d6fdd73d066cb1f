import type { Firsts } from './bootstrap.ts';

/** Data of the startup message. */
export interface Running extends Firsts {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly dashboardUrl: string;
  readonly dataDir: string;
  readonly postgres: 'embedded' | 'external';
}

/**
 * Returns the text that npm start prints when everything runs. The commands in it can be pasted into a terminal. The
 * login is last, so that it remains visible.
 */
export function announcement({ liveUrl, sandboxUrl, dashboardUrl, dataDir, postgres, keys, login }: Running): string {
  const lines = [
    '',
    'rms is ready.',
    '',
    `  live      ${liveUrl}`,
    `  sandbox   ${sandboxUrl}`,
    `  dashboard ${dashboardUrl}`,
    `  API docs  ${liveUrl}/docs`,
    `  data      ${postgres === 'embedded' ? `${dataDir} (embedded PostgreSQL)` : 'external PostgreSQL (DATABASE_URL)'}`,
    '',
  ];
  if (keys) {
    lines.push(
      'Admin keys (shown only once):',
      '',
      `  live      ${keys.live}`,
      `  sandbox   ${keys.sandbox}`,
      '',
      'Try it in another terminal:',
      '',
      `  KEY=${keys.live}`,
      `  curl -s ${liveUrl}/v1/resources -H "Authorization: Bearer $KEY" \\`,
      `    -H 'Content-Type: application/json' -d '{"name": "My first resource"}'`,
      `  curl -s ${liveUrl}/v1/resources -H "Authorization: Bearer $KEY"`,
    );
  } else {
    lines.push(
      'Create a key in another terminal:',
      '',
      '  npm run -s rms -- keys create --environment live --scope admin --name mine',
    );
  }
  lines.push('', 'Press Ctrl-C to stop. Data is kept.', '');
  if (login?.password) {
    lines.push(
      'Login of the first owner (shown only once):',
      '',
      `  email     ${login.email}`,
      `  password  ${login.password}`,
      '',
    );
  } else if (login) {
    lines.push(
      `The existing user ${login.email} is the owner of the new workspace. A new password, if it was lost:`,
      '',
      `  npm run -s rms -- users reset --email ${login.email}`,
      '',
    );
  }
  return lines.join('\n');
}
