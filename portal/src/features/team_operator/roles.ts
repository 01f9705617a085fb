export function rolesOf(admin: boolean, support: boolean): ('admin' | 'support')[] {
  return [...(admin ? (['admin'] as const) : []), ...(support ? (['support'] as const) : [])];
}
