// The time of day for what is shown relative to it; one timer for all.
let now = $state(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** Call when a component begins; the clock stands still while nobody looks at it. */
export function useClock(): { readonly now: number } {
  $effect(() => {
    users += 1;
    timer ??= setInterval(() => (now = Date.now()), 10_000);
    return () => {
      users -= 1;
      if (users > 0) return;
      clearInterval(timer);
      timer = undefined;
    };
  });
  // The timer says when to look again, not what the time is: it stands still before the first look.
  return { get now() { return Math.max(now, Date.now()); } };
}
