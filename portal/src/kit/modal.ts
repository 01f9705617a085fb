// Opens a dialog over the page, for as long as its element is there.
const FIELD = ':is(input, select, textarea):not(:disabled, [readonly], [type="hidden"], [tabindex="-1"])';

/** Begins at the first field, or at the button that the question is about; the browser would begin at "Close". */
export function modal(dialog: HTMLDialogElement) {
  const opener = document.activeElement;
  dialog.showModal();
  const first = ['[autofocus]', FIELD, '[type="submit"]'].map((one) => dialog.querySelector<HTMLElement>(one)).find(Boolean);
  first?.focus();
  return {
    destroy() {
      dialog.close();
      // Back to where it was opened from, unless the answer led elsewhere.
      queueMicrotask(() => {
        const nowhere = document.activeElement === document.body || document.activeElement === null;
        if (nowhere && opener instanceof HTMLElement && opener.isConnected) opener.focus();
      });
    },
  };
}
