// Whether the screen is as narrow as a phone's: what is shown in place of what has no room there is not made elsewhere.
const query = matchMedia('(max-width: 47.99em)');
let isNarrow = $state(query.matches);
query.addEventListener('change', () => (isNarrow = query.matches));

export const screen = {
  get isNarrow() { return isNarrow; },
};
