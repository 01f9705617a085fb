import { words } from './words';

/** The roles in an account, each with what it may do. */
export const roleOptions = Object.entries(words.roles).map(([value, { label, hint }]) => ({ value, label, hint }));
