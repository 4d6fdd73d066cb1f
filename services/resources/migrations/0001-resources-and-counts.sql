-- Resources, their exact counts, and responses for repeated requests.

-- Resources

-- Returns a name without differences of case, accents, width and Unicode form: "Ä", "a" and "Ａ" become "a". Uses no
-- locale and no ICU, so that an index on the result stays valid when the libraries of the server change
-- (docs/adr/0031). The result has at most 255 characters, because compatibility characters decompose into up to 18, and
-- an index row has at most 2,704 bytes. A change of the result needs a new function and a new index.
create function resources.folded_name(name text) returns text language plpgsql immutable parallel safe as $$
declare
  folded text collate "C" := name;
begin
  if octet_length(name) = char_length(name) then
    -- ASCII. In the collation "C", lower() changes only the letters A to Z, here and below.
    return translate(lower(folded), E'\u0001', ' ');
  end if;
  -- Removes combining marks of European scripts, Hebrew and Arabic, and invisible characters. Vowel signs of other
  -- scripts are letters.
  folded := left(regexp_replace(left(normalize(name, nfkd), 1020),
    E'[\u00AD\u0300-\u036F\u0483-\u0487\u0591-\u05BD\u05BF\u05C1\u05C2\u05C4\u05C5\u05C7\u064B-\u065F\u0670\u1AB0-\u1AFF'
    '\u1DC0-\u1DFF\u200B-\u200F\u2060\u20D0-\u20FF\uFE00-\uFE0F\uFE20-\uFE2F\uFEFF]+', '', 'g'), 255);
  folded := lower(folded);
  if octet_length(folded) <> char_length(folded) then
    -- Letters of the modern alphabets with capitals that do not decompose. A range avoids the search in long lists.
    if folded ~ E'[\u00C6-\u024F\u1E9E]' then
      folded := translate(folded,
        'ÆÐØÞĐĦŁŊŒŦƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƢƤƦƧƩƬƮƱƲƳƵƷƸƼǤǶǷȜȠȢȤȺȻȽȾɁɃɄɅɆɈɊɌɎẞøđħłŧı',
        'æðoþdhlŋœtɓƃƅɔƈɖɗƌǝəɛƒɠɣɩɨƙɯɲɵƣƥʀƨʃƭʈʊʋƴƶʒƹƽǥƕƿȝƞȣȥⱥȼƚⱦɂƀʉʌɇɉɋɍɏßodhlti');
      folded := replace(replace(replace(folded, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe');
    end if;
    if folded ~ E'[\u0391-\u03C2]' then
      folded := translate(folded,
        'ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩς',
        'αβγδεζηθικλμνξοπρστυφχψωσ');
    end if;
    if folded ~ E'[\u0400-\u042F]' then
      folded := translate(folded,
        'ЂЄЅІЈЉЊЋЏАБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ',
        'ђєѕіјљњћџабвгдежзиклмнопрстуфхцчшщъыьэюя');
    end if;
    if folded ~ E'[\u0460-\u052F]' then
      folded := translate(folded,
        'ѠѢѤѦѨѪѬѮѰѲѴѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӃӅӇӉӋӍӔӘӠӨӶӺӼӾԀԂԄԆԈԊԌԎԐԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮ',
        'ѡѣѥѧѩѫѭѯѱѳѵѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӄӆӈӊӌӎӕәӡөӷӻӽӿԁԃԅԇԉԋԍԏԑԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯ');
    end if;
    if folded ~ E'[\u0531-\u0556]' then
      folded := translate(folded,
        'ԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖ',
        'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ');
    end if;
  end if;
  -- U+0001 ends the folded name in name_key(), and U+10FFFF is the upper bound of a prefix.
  return left(translate(folded, E'\u0001\U0010FFFF', E' \uFFFD'), 255);
end $$;

-- Returns the sort key of a name: the folded name, then the composed name, so that "Resume" and "résumé" follow each
-- other, and equal names of another Unicode form are equal. All keys of names that start with a prefix start with its
-- folded name.
create function resources.name_key(name text) returns text language plpgsql immutable parallel safe as $$
begin
  return resources.folded_name(name) || E'\u0001' ||
    case when octet_length(name) = char_length(name) then name else left(normalize(name, nfc), 255) end;
end $$;

-- The objects that the API manages.
create table resources.resources (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  -- Begins with created_at, so the primary key is the index of the default sort (docs/adr/0002).
  id           text collate "C" not null,
  status       text collate "C" not null,
  name         text collate "C" not null,
  -- json instead of jsonb: keeps the order of keys, and is cheaper to write.
  metadata     json not null,
  input_type   text not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  -- Version of the resource, and the sequence number of its most recent event.
  sequence     bigint not null,
  primary key (workspace_id, environment, id)
);

-- Each index serves one sort order of lists with a status. A list without a status merges the ranges of the statuses.
create index resources_by_status on resources.resources (workspace_id, environment, status, id);
create index resources_by_update on resources.resources (workspace_id, environment, status, updated_at, id);
create index resources_by_name_key
  on resources.resources (workspace_id, environment, status, resources.name_key(name), id);
-- The sort order of names in releases without resources.name_key(): by bytes.
create index resources_by_name on resources.resources (workspace_id, environment, status, name, id);

-- Exact totals of lists. Each transaction adds to one shard of its choice, so that writers seldom wait for each other.
create table resources.resource_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  status       text collate "C" not null,
  shard        smallint not null,
  count        bigint not null,
  primary key (workspace_id, environment, status, shard)
) with (fillfactor = 50);

-- Idempotency

-- Responses that a POST with the same Idempotency-Key gets again for 24 hours.
create table resources.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  -- SHA-256 of the request in canonical form.
  fingerprint  bytea not null,
  resource_id  text collate "C" not null,
  -- rms.resources.v1.Resource
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);

-- Housekeeping deletes expired rows.
create index idempotency_keys_by_expiry on resources.idempotency_keys (expires_at);

-- Deletion and expiry

-- Deleted workspaces whose rows that arrive later are deleted too (packages/postgres/src/workspace-deletion).
create table resources.deleted_workspaces (
  workspace_id text collate "C" primary key,
  deleted_at   timestamptz not null default now(),
  -- Number of deleted rows by table.
  deleted_rows jsonb not null default '{}',
  -- Time of the next search for late rows.
  sweep_at     timestamptz not null
) with (fillfactor = 50);

-- Housekeeping takes the workspaces that are due.
create index deleted_workspaces_by_sweep on resources.deleted_workspaces (sweep_at);

-- The time by which rows of this schema expire, agreed by the clock of PostgreSQL and the monotonic clocks of the
-- instances (packages/postgres/src/db/agreed-clock.ts). No row: the clock has not been compared yet.
create table resources.clock (
  single    boolean primary key default true check (single),
  agreed_at timestamptz not null
) with (fillfactor = 10);

-- Returns the current time, but at most five minutes after the last agreed time: a clock that jumps ahead deletes
-- nothing.
create function resources.agreed_now() returns timestamptz language sql stable as $$
  select least(now(), (select agreed_at + interval '5 minutes' from resources.clock))
$$;
