// Formatters of the browser. Making one costs a hundred times what using it does, so each is made once.
function once<Options, Made>(make: (options: Options) => Made): (options: Options) => Made {
  const made = new Map<string, Made>();
  return (options) => {
    const key = JSON.stringify(options);
    const known = made.get(key) ?? make(options);
    made.set(key, known);
    return known;
  };
}

export const numbers = once((options: Intl.NumberFormatOptions) => new Intl.NumberFormat(undefined, options));
export const dates = once((options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options));
/** Decimal places of a currency's minor unit. */
export const minorDigits = once(
  (currency: string) => new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2,
);
/** The reader's time zone. */
export const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
