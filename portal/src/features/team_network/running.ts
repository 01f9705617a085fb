// How often an import is asked about while it runs.
export const POLL_MS = 1000;

export const isRunning = (one?: { status: string }) => one === undefined || one.status === 'queued' || one.status === 'running';
