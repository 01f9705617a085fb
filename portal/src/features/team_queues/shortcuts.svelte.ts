// Single keys for a queue that is worked through, such as `a` to approve. They can be switched off (WCAG 2.1.4), and are
// silent while somebody writes or a dialog is open.
const STORE = 'trunkline.shortcuts';

let enabled = $state(localStorage.getItem(STORE) !== 'off');

export const shortcuts = {
  get enabled() {
    return enabled;
  },
  set enabled(on: boolean) {
    enabled = on;
    localStorage.setItem(STORE, on ? 'on' : 'off');
  },
};

/** For `<svelte:window onkeydown={…}>`. */
export function onKey(keys: Record<string, () => void>): (event: KeyboardEvent) => void {
  return (event) => {
    if (!enabled || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const target = event.target as Element | null;
    if (target?.closest('input, textarea, select, [contenteditable], dialog, [role="dialog"], [role="menu"]')) return;
    const run = keys[event.key];
    if (!run) return;
    event.preventDefault();
    run();
  };
}
