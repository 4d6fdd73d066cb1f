import { createLogger } from '@rms/runtime/logging';

/** Creates a logger and returns its parsed lines. */
function memoryLogger(level?: string) {
  const lines: string[] = [];
  const log = createLogger({
    name: 'unit',
    ...(level ? { level } : {}),
    destination: { write: (line) => void lines.push(line) },
  });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? 'null') };
}

describe('The logger', () => {
  test('writes one line of JSON with level, time and service', () => {
    const { log, lines, last } = memoryLogger();
    log.info({ request_id: 'req_1' }, 'done');
    expect(lines).toHaveLength(1);
    expect(lines[0]?.endsWith('}\n')).toBe(true);
    expect(last()).toMatchObject({ level: 'info', service: 'unit', request_id: 'req_1', msg: 'done' });
    expect(new Date(last().time).toISOString()).toBe(last().time);
  });

  test('writes nothing below its level', () => {
    const { log, lines } = memoryLogger('warn');
    log.info('quiet');
    log.warn('loud');
    expect(lines).toHaveLength(1);
  });

  test.each([
    'authorization',
    'Authorization',
    'cookie',
    'set-cookie',
    'key_value',
    'keyValue',
    'api_key',
    'secret',
    'password',
    'token',
    'Idempotency-Key',
    'DATABASE_URL',
    'REDIS_URL',
    'ENCRYPTION_KEY',
    'SESSION_KEY',
    'SMTP_URL',
    'KAFKA_SASL_PASSWORD',
    'ENCRYPTION_KEY_PREVIOUS',
    'x-api-key',
    'webhookSecret',
    'accessToken',
    'proxy-authorization',
    'grpc_private_key',
  ])('redacts the field "%s" at any depth', (name) => {
    const { log, lines, last } = memoryLogger();
    const given = { [name]: 'hunter2', a: { b: [{ [name]: ['hunter2'], kept: 1 }] } };
    log.info(given, 'x');
    expect(lines[0]).not.toContain('hunter2');
    expect(last().a.b[0]).toEqual({ [name]: '[secret]', kept: 1 });
    expect(given.a.b[0]?.[name]).toEqual(['hunter2']);
  });

  test('redacts secrets in the fields of an error and its causes', () => {
    const { log, lines, last } = memoryLogger();
    const cause = Object.assign(new Error('inner'), { config: { password: 'hunter2' } });
    const err = Object.assign(new Error('outer', { cause }), { headers: { authorization: 'hunter2' } });
    log.error({ err }, 'failed');
    expect(lines[0]).not.toContain('hunter2');
    expect(last().err).toMatchObject({ message: 'outer', cause: { message: 'inner' } });
  });

  test('redacts keys, webhook secrets and passwords of URLs anywhere', () => {
    const { log, lines, last } = memoryLogger();
    log.error(
      { note: 'Bearer sk_live_0123456789abcdefghijklmnopqrstuvwxyzAB', at: 'postgres://rms:hunter2@db:5432/rms' },
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw was used; see https://example.com/a@b',
    );
    expect(last()).toMatchObject({
      note: 'Bearer [secret]',
      at: 'postgres://rms:[secret]@db:5432/rms',
      msg: 'whsec_[secret] was used; see https://example.com/a@b',
    });
    expect(lines[0]).not.toContain('hunter2');
  });

  const key = 'sk_live_0123456789abcdefghijklmnopqrstuvwxyzAB';
  const encryptionKey = Buffer.alloc(32, 'hunter2').toString('base64');
  test.each([
    [`/v1/resources?key=${key}&x=1`, '/v1/resources?key=sk_live_[secret]&x=1'],
    [`/v1/${key}/${key}`, '/v1/sk_live_[secret]/sk_live_[secret]'],
    [`prefix${key.replace('live', 'test')}`, 'prefixsk_test_[secret]'],
    ['sk_live_Ab3f…Xy9z', 'sk_live_Ab3f…Xy9z'],
    ['whsec_hunter2+hunter2/hunter2==', 'whsec_[secret]'],
    ['whsec_hunter2-hunter2_hunter2', 'whsec_[secret]'],
    ['Bearer hunter2.hunter2.hunter2', 'Bearer [secret]'],
    ['authorization: bearer   hunter2hunter2', 'authorization: bearer   [secret]'],
    ['Basic aHVudGVyMjpodW50ZXIy', 'Basic [secret]'],
    ['redis://:hunter2@redis:6379/0', 'redis://:[secret]@redis:6379/0'],
    ['postgres://rms:hunter2@hunter2@db/rms', 'postgres://rms:[secret]@db/rms'],
    ['postgres://rms:"hunter2\\@db/rms', 'postgres://rms:[secret]@db/rms'],
    ['a://b:hunter2@c and d://e:hunter2@f', 'a://b:[secret]@c and d://e:[secret]@f'],
    ['host=db password=hunter2 user=rms', 'host=db password=[secret] user=rms'],
    ['?api_key=hunter2&access_token=hunter2&page=2', '?api_key=[secret]&access_token=[secret]&page=2'],
    [`ENCRYPTION_KEY is ${encryptionKey}, wrong`, 'ENCRYPTION_KEY is [secret], wrong'],
    [`"${encryptionKey}"`, '"[secret]"'],
    [
      '-----BEGIN EC PRIVATE KEY-----\nhunter2\nhunter2\n-----END EC PRIVATE KEY-----',
      '-----BEGIN EC PRIVATE KEY-----[secret] EC PRIVATE KEY-----',
    ],
  ])('redacts %j in a field, a message, an error, its stack and its cause', (text, shown) => {
    const { log, lines, last } = memoryLogger();
    log.warn({ note: text, deep: [{ text }], err: new Error(text, { cause: new Error(text) }) }, text);
    expect(lines[0]).not.toMatch(/hunter2|aHVudGVy|0123456789abcdef/);
    expect(lines[0]).not.toContain(encryptionKey);
    expect(last()).toMatchObject({
      note: shown,
      deep: [{ text: shown }],
      msg: shown,
      err: {
        message: shown,
        stack: expect.stringContaining(shown.split('\n')[0] as string),
        cause: { message: shown },
      },
    });
  });

  test.each([
    'GET https://example.com:8443/a@b?cursor=eyJhIjoxfQ',
    'a bearer of news, basic as it is',
    'req_01jc3v9m0w7y8x2k4n6p8q0r2s took 3 ms = fine',
    '2001:db8::1 and user@example.com',
  ])('does not change %j', (text) => {
    const { log, last } = memoryLogger();
    log.info({ note: text, page_token: text, next_page_token: text }, text);
    expect(last()).toMatchObject({ note: text, msg: text, page_token: text, next_page_token: text });
  });

  test('replaces binary data with its length', () => {
    const { log, last } = memoryLogger();
    log.info({ hash: Buffer.from('hunter2'), more: { bytes: new Uint8Array(3) } }, 'x');
    expect(last()).toMatchObject({ hash: '[7 bytes]', more: { bytes: '[3 bytes]' } });
  });

  test('handles circular references, and does not change dates and similar objects', () => {
    const { log, last } = memoryLogger();
    const loop: Record<string, unknown> = { at: new Date(0), url: new URL('http://a.example/') };
    loop.self = loop;
    log.info(loop, 'x');
    expect(last()).toMatchObject({ at: '1970-01-01T00:00:00.000Z', url: 'http://a.example/', msg: 'x' });
  });
});
