// A message that goes away by itself: a change was made, or failed where there is no better place to say so.
export type Tone = 'info' | 'good' | 'warn' | 'bad';
export type Toast = { id: number; text: string; tone: Tone };

let next = 0;
let shown = $state<Toast[]>([]);

export const toasts = {
  get shown() { return shown; },
  close(id: number) { shown = shown.filter((one) => one.id !== id); },
};

export function toast(text: string, tone: Tone = 'good'): void {
  const id = next++;
  shown = [...shown.slice(-3), { id, text, tone }];
  setTimeout(() => toasts.close(id), tone === 'bad' || tone === 'warn' ? 12_000 : 5000);
}
