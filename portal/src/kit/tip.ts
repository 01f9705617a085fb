// A short explanation beside what the pointer or the keyboard is on. One element for the page, in the top layer.
let bubble: HTMLElement | undefined;

function show(node: HTMLElement, text: string) {
  if (!bubble) {
    bubble = document.createElement('div');
    bubble.className = 'tip';
    bubble.popover = 'manual';
    bubble.setAttribute('aria-hidden', 'true');
  }
  (node.closest('dialog') ?? document.body).append(bubble);
  bubble.textContent = text;
  bubble.showPopover();
  const at = node.getBoundingClientRect();
  const own = bubble.getBoundingClientRect();
  const left = Math.max(8, Math.min(at.left + at.width / 2 - own.width / 2, innerWidth - own.width - 8));
  const above = at.top - own.height - 6;
  bubble.style.setProperty('left', `${left}px`);
  bubble.style.setProperty('top', `${above > 4 ? above : at.bottom + 6}px`);
}

function hide() {
  if (bubble?.matches(':popover-open')) bubble.hidePopover();
}

export function tip(node: HTMLElement, text: string | undefined) {
  let now = text;
  const enter = () => now && show(node, now);
  const leave = (event: Event) => (event as KeyboardEvent).key === undefined || (event as KeyboardEvent).key === 'Escape' ? hide() : undefined;
  node.addEventListener('pointerenter', enter);
  node.addEventListener('focus', enter);
  for (const kind of ['pointerleave', 'blur', 'keydown']) node.addEventListener(kind, leave);
  return {
    update: (next: string | undefined) => void (now = next),
    destroy: hide,
  };
}
