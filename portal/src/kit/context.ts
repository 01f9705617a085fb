// What a form or a filter bar tells the fields in it.
import { getContext, setContext } from 'svelte';

export type FormContext = { errorOf(name: string): string | undefined; register(name: string): () => void; readonly disabled: boolean };

const FORM = Symbol('form');
const COMPACT = Symbol('compact');

export const setForm = (form: FormContext) => setContext(FORM, form);
export const getForm = () => getContext<FormContext | undefined>(FORM);
export const setCompact = (compact: boolean) => setContext(COMPACT, compact);
export const isCompact = () => getContext<boolean | undefined>(COMPACT) ?? false;
