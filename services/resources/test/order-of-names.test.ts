import { makePageToken } from '@rms/postgres/db';
import { perSuite } from '@rms/testkit';
import { createOne, newCaller, startResources } from './support.ts';

describe('the order of names', () => {
  const rms = perSuite(startResources);

  type Caller = ReturnType<typeof newCaller>;
  const list = (context: Caller, request: object = {}) =>
    rms.client.listResources({ context, pageSize: 100, orderBy: 'name', ...request });
  const namesOf = async (context: Caller, request: object = {}) =>
    (await list(context, request)).resources.map(({ name }) => name);

  /** Creates the names in an order that is not the wanted one. */
  const createAll = async (names: readonly string[]) => {
    const context = newCaller();
    for (const name of [...names].reverse()) await createOne(rms.client, context, name);
    return context;
  };

  test.each([
    ['case follows the letters', ['Alpha', 'alpha', 'apple', 'Zebra', 'zoo']],
    [
      'German umlauts are like their letters, and ß is ss',
      ['Apfel', 'Äpfel', 'Apfelbaum', 'Ofen', 'Öl', 'Strasse', 'Straße', 'Straßen', 'Zeh'],
    ],
    [
      'Swedish and Danish letters are like the letters without mark',
      ['Aland', 'Åland', 'Alborg', 'Ålborg', 'Örebro', 'Ørsted', 'Orust', 'zon'],
    ],
    ['Polish and Croatian letters with a stroke', ['Dakovo', 'Đakovo', 'Dinar', 'Lodz', 'Łódź', 'Lublin']],
    ['ligatures are their letters', ['Aegir', 'Ægir', 'Afrika', 'fine', 'ﬁne', 'OEuvre', 'Œuvre']],
    ['the Turkish letters are one i', ['Igel', 'igel', 'İgel', 'ıgel', 'Izmir', 'izmir', 'İzmir', 'ızmir', 'Jena']],
    ['accents decide only between equal letters', ['resume', 'résumé', 'resumes', 'résumés', 'resumption']],
    ['Vietnamese letters with several marks', ['an', 'Ấn', 'ấn', 'ao']],
    ['Greek in any case, accent and final sigma', ['ΑΛΦΑ', 'άλφα', 'αλφα', 'ΟΔΟΣ', 'οδος', 'οδοσ', 'οδού']],
    ['Cyrillic', ['Аня', 'аня', 'Борис', 'Ёлка', 'елка', 'Ель', 'Яна']],
    ['full-width letters and digits are like the narrow ones', ['1', '１', '2', 'ABC', 'abc', 'ＡＢＣ', 'abd']],
    [
      'spaces, signs, digits, letters, other scripts, emoji',
      [' a', '%', '10', '9', '_', 'a', 'a b', 'a-b', 'aa', 'z', 'я', '한글', 'あ', '😀'],
    ],
    ['invisible characters and variation selectors do not count', ['ab', 'a\u200Bb', 'a\u00ADc', '☎', '☎\uFE0F']],
  ])('%s', async (_, names) => {
    const context = await createAll(names);
    expect(await namesOf(context)).toEqual(names);
    expect(await namesOf(context, { orderBy: '-name' })).toEqual([...names].reverse());
    expect(await namesOf(context, { status: 1 })).toEqual(names);
  });

  test('equal names follow each other by ID in every Unicode form', async () => {
    const context = newCaller();
    const ids: string[] = [];
    for (const name of ['e\u0301te\u0301', 'été', 'été', 'e\u0301te\u0301', '각', '\u1100\u1161\u11A8', '각'])
      ids.push((await createOne(rms.client, context, name)).id);
    expect((await list(context)).resources.map(({ id }) => id)).toEqual(ids);
  });

  test.each([
    ['É', ['e', 'éa', 'e\u0301b', 'EC']],
    ['e\u0301', ['e', 'éa', 'e\u0301b', 'EC']],
    ['strass', ['Straße', 'STRASSE']],
    ['straß', ['Straße', 'STRASSE']],
    ['STRAẞE', ['Straße', 'STRASSE']],
    ['ＡＢ', ['abc', 'ＡＢＣ']],
    ['ΟΔΟΣ', ['οδος', 'Οδοσα']],
    ['İ', ['ist', 'İst', 'Ist', 'ıst']],
    ['ёл', ['Ёлка', 'елка', 'Е\u0308лка']],
    ['각', ['각', '\u1100\u1161\u11A8']],
    ['a\u0001', ['a b', 'a\u0001c']],
    ['\u{10FFFF}', ['\u{10FFFF}x']],
    ['ab'.repeat(127), ['ab'.repeat(127), `${'AB'.repeat(127)}c`]],
    ['ﷺ'.repeat(255), ['ﷺ'.repeat(255)]],
  ])('the prefix %j matches in every case and Unicode form, and nothing else', async (namePrefix, names) => {
    const others = ['d', 'f', 'Stras', 'οδ', 'j', 'ж', 'b', '나', '\u{10FFFD}', 'c'];
    const context = await createAll([...names, ...others]);
    expect((await namesOf(context, { namePrefix })).sort()).toEqual([...names].sort());
  });

  test('the longest names of any characters are stored', async () => {
    const context = newCaller();
    const random = String.fromCodePoint(...Array.from({ length: 255 }, (_, i) => 0x10000 + ((i * 7919) % 0x8000)));
    const names = ['ﷺ', '\u{1D160}', '가', '\u{10FFFD}', '\u1F82', 'ẞ'].map((one) => one.repeat(255));
    for (const name of [...names, random]) await createOne(rms.client, context, name);
    expect((await namesOf(context)).sort()).toEqual([...names, random].sort());
  });

  test.each(['name', '-name'])('paging by %s through equal names loses and repeats nothing', async (orderBy) => {
    const context = newCaller();
    const forms = ['Zoë', 'zoe', 'ZOË', 'zoe\u0308', 'zoé'];
    const requests = Array.from({ length: 60 }, (_, i) => ({ context, name: forms[i % forms.length] ?? '' }));
    await rms.client.batchCreateResources({ requests });
    const all = (await list(context, { orderBy })).resources.map(({ id }) => id);
    for (const filter of [{}, { status: 1 }, { namePrefix: 'ZOE\u0301' }]) {
      const seen: string[] = [];
      let pageToken = '';
      do {
        const page = await list(context, { orderBy, pageSize: 7, pageToken, ...filter });
        seen.push(...page.resources.map(({ id }) => id));
        pageToken = page.nextPageToken;
      } while (pageToken);
      expect(seen).toEqual(all);
    }
    expect(new Set(all).size).toBe(60);
  });

  test('the sort key is the same in a database with another locale, whatever the session sets', async () => {
    const { pool } = rms.database;
    const keys = 'select resources.name_key(name) as key from unnest($1::text[]) as name';
    const names = ['Äpfel', 'İzmir', 'ıgel', 'ΟΔΟΣ', 'Ёлка', 'ﬁne', 'I', 'a\\b'];
    const [{ rows: expected }, client] = [await pool.query(keys, [names]), await pool.connect()];
    try {
      await client.query(`set standard_conforming_strings = off; set search_path = ''; set lc_messages = 'C'`);
      for (const collation of ['"C"', '"POSIX"', '"default"', '"ucs_basic"']) {
        const { rows } = await client.query(
          keys.replace('name_key(name)', `name_key(name collate pg_catalog.${collation})`),
          [names],
        );
        expect(rows).toEqual(expected);
      }
    } finally {
      client.release(true);
    }
  });

  test('names that an older version writes are in the list', async () => {
    // It knows neither the function nor the index.
    const context = await createAll(['b', 'Ä']);
    const { rowCount } = await rms.database.pool.query(
      `update resources.resources set name = 'Ça' where workspace_id = $1 and name = 'b'`,
      [context.principal?.workspaceId],
    );
    expect(rowCount).toBe(1);
    expect(await namesOf(context)).toEqual(['Ä', 'Ça']);
    expect(await namesOf(context, { namePrefix: 'c' })).toEqual(['Ça']);
  });

  test('a cursor of a version that sorted names by bytes is rejected', async () => {
    const context = await createAll(['a', 'B', 'c']);
    const binding = ['resources', context.principal?.workspaceId, 'live', '', 'name', false].join('\n');
    const start = { direction: 'after', keys: ['B', 'res_1'], page: 2 } as const;
    await expect(
      list(context, { pageToken: makePageToken([Buffer.alloc(32, 1)], binding, start) }),
    ).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'cursor' }],
    });
  });
});
