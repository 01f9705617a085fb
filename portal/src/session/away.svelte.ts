// Whether the service answers. Shown as one banner; what was asked for is repeated meanwhile.
import { untrack } from 'svelte';

let gone = $state(false);
let timer: ReturnType<typeof setTimeout> | undefined;
let failures = 0;

async function probe(): Promise<void> {
  const response = await fetch('/v1/portal', { cache: 'no-store' }).catch(() => undefined);
  if (response && response.status < 500) return away.noteAnswer();
  failures += 1;
  timer = setTimeout(() => void probe(), Math.min(1000 * 2 ** failures, 15_000));
}

export const away = {
  get now() { return gone; },
  noteFailure() {
    untrack(() => {
      if (gone) return;
      gone = true;
      failures = 0;
      timer = setTimeout(() => void probe(), 1000);
    });
  },
  noteAnswer() {
    untrack(() => {
      if (!gone) return;
      clearTimeout(timer);
      gone = false;
    });
  },
};

addEventListener('online', () => void (gone && probe()));
