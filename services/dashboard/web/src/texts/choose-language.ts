import { preferredLanguages } from '../browser/languages.ts';
import { catalogs } from './catalogs.ts';

/** Loads the first language of the browser that has a catalog. Without one, the pages are in English. */
export async function chooseLanguage(): Promise<void> {
  for (const tag of preferredLanguages()) {
    const [language = ''] = tag.split('-', 1);
    if (language === 'en') return;
    const catalog = await catalogs[language]?.();
    if (!catalog) continue;
    const { translate } = await import('./catalog.ts');
    translate(language, catalog);
    return;
  }
}
