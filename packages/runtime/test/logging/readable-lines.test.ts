import { createLogger } from '../../src/logging/logger.ts';
import { readableLine, readableLines } from '../../src/logging/readable-lines.ts';

describe('log lines for a terminal', () => {
  const written: string[] = [];
  const log = createLogger({
    name: 'webhooks',
    destination: readableLines({ write: (text) => void written.push(text) }),
  });
  const last = () => written.at(-1) ?? '';

  test('show time, level, service, message and fields, and no JSON', () => {
    log.warn({ count: 3, url: 'https://example.com', text: 'two words', list: [1] }, 'lease release failed');
    expect(last()).toMatch(
      /^\d\d:\d\d:\d\d WARN {2}webhooks: lease release failed count=3 url=https:\/\/example\.com text="two words" list=\[1\]\n$/,
    );
  });

  test('show an error with its message', () => {
    log.error({ err: new Error('connection refused') }, 'could not publish');
    expect(last()).toMatch(/ERROR webhooks: could not publish error="connection refused"/);
  });

  test('contain no secrets and no control characters', () => {
    const key = `sk_live_${'a'.repeat(38)}`;
    log.info({ password: 'hunter2', text: `${key} \u001b[2J` }, 'started');
    expect(last()).not.toContain(key);
    expect(last()).not.toContain('hunter2');
    expect(last()).not.toContain('\u001b');
  });

  test('other lines are unchanged', () => {
    expect(readableLine('not JSON\n')).toBe('not JSON\n');
  });
});
