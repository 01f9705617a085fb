// Light, dark, or as the system has it.
export type Theme = 'auto' | 'light' | 'dark';
const STORE = 'trunkline.theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function stored(): Theme {
  const text = localStorage.getItem(STORE);
  return text === 'light' || text === 'dark' ? text : 'auto';
}

let chosen = $state<Theme>(stored());
let systemDark = $state(system.matches);
system.addEventListener('change', () => (systemDark = system.matches));

function apply() {
  if (chosen === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
}
apply();

export const theme = {
  get chosen() { return chosen; },
  get dark() { return chosen === 'auto' ? systemDark : chosen === 'dark'; },
  set chosen(value: Theme) {
    chosen = value;
    localStorage.setItem(STORE, value);
    apply();
  },
};
