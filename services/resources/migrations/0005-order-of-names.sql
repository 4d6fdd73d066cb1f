-- The order of names (docs/decisions/resources.md). The functions use no locale and no ICU, so that an index on them
-- stays valid when the libraries of the server change. Unicode never changes the decomposition of an assigned character.

-- Returns a name without differences of case, accents, width and Unicode form: "Ä", "a" and "Ａ" become "a". The result
-- has at most 255 characters, because compatibility characters decompose into up to 18, and an index row has at most
-- 2,704 bytes. A change of the result needs a new function and a new index.
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
