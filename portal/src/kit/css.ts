// Sizes that depend on data. The policy of the page forbids style attributes; the object model is allowed.
export function css(node: HTMLElement | SVGElement, values: Record<string, string | number>) {
  const apply = (now: Record<string, string | number>) => {
    for (const [name, value] of Object.entries(now)) node.style.setProperty(name, String(value));
  };
  apply(values);
  return { update: apply };
}
