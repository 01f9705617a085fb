// Opening and closing a drawer that has an address of its own must not lose the place in the list behind it.

/** Call it at component init with what says which drawer is open. */
export function keepPlace(open: () => unknown): void {
  let y = 0;
  let before = open();

  $effect(() => {
    const remember = () => (y = scrollY);
    addEventListener('click', remember, true);
    addEventListener('keydown', remember, true);
    return () => {
      removeEventListener('click', remember, true);
      removeEventListener('keydown', remember, true);
    };
  });
  $effect(() => {
    const now = open();
    if (now !== before) scrollTo(0, y);
    before = now;
  });
}
