export { barred, type Need } from './barred';
export { away } from './away.svelte';
export { portal, type PortalInfo } from './portal.svelte';
export { session, type Signed, type Tokens } from './session.svelte';
export { impersonate } from './impersonate';
export * as passkey from './passkey';
