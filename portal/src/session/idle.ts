// When somebody last touched this tab.
let last = Date.now();
for (const kind of ['pointerdown', 'keydown', 'wheel', 'touchstart'] as const) {
  addEventListener(kind, () => (last = Date.now()), { passive: true, capture: true });
}
export const lastInput = () => last;
