// Imports run in the background; they are asked about until they are over.
const POLL_MS = 1000;

export const isRunning = (one: { status: string }) => one.status === 'queued' || one.status === 'running';

/** Settings of a read that polls until told otherwise: `while` takes the condition once the read exists. */
export function polling() {
  let on = $state(true);
  return {
    get poll() {
      return on ? POLL_MS : undefined;
    },
    while(condition: () => boolean) {
      $effect(() => {
        on = condition();
      });
    },
  };
}
