// Languages of the region, by their own name in the reader's language.

const LOCALES = [
  'bg', 'cs', 'da', 'de', 'de-AT', 'de-CH', 'el', 'en', 'en-GB', 'en-IE', 'en-US', 'es', 'et', 'fi', 'fr', 'fr-BE', 'fr-CH', 'ga', 'hr',
  'hu', 'it', 'lt', 'lv', 'mt', 'nb', 'nl', 'nl-BE', 'pl', 'pt', 'ro', 'sk', 'sl', 'sv', 'tr', 'uk',
];

/** The options, with the current locale among them whatever it is. */
export function localeOptions(current: string | undefined): { value: string; label: string }[] {
  const names = new Intl.DisplayNames(undefined, { type: 'language' });
  const all = current && !LOCALES.includes(current) ? [...LOCALES, current] : LOCALES;
  return all
    .map((value) => ({ value, label: names.of(value) ?? value }))
    .sort((a, b) => a.label.localeCompare(b.label));
}
