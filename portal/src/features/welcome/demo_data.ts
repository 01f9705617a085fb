// Demo data of an installation that was set up to be tried out.
import { ask } from '$api';

export type DemoData = { status: 'none' | 'running' | 'done' | 'failed'; progress: number; available?: boolean; message?: string | null };

export const demoData = {
  get: async () => (await ask('get', '/admin/demo-data')).body as DemoData,
  fill: async (key: string) => (await ask('post', '/admin/demo-data', { headers: { 'Idempotency-Key': key } })).body as DemoData,
};
