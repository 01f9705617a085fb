// Durations of live calls between two answers of the service.

/** Seconds since the given rows arrived, counted once a second while the screen is there. Call it at component init. */
export function sinceArrival(rows: () => unknown): { readonly seconds: number } {
  let arrived = $state(performance.now());
  let now = $state(performance.now());

  $effect(() => {
    rows();
    const at = performance.now();
    arrived = at;
    now = at;
  });
  $effect(() => {
    const timer = setInterval(() => (now = performance.now()), 1000);
    return () => clearInterval(timer);
  });
  return {
    get seconds() {
      return Math.max(0, Math.floor((now - arrived) / 1000));
    },
  };
}
