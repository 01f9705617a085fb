// The portal in Chromium, against services of its own. What must hold on every screen is in world.ts.
import { defineConfig } from '@playwright/test';

const path = (name: string) => new URL(name, import.meta.url).pathname;

export default defineConfig({
  testDir: path('./journeys'),
  outputDir: path('../test-results'),
  globalSetup: path('./fill.ts'),
  // A file of journeys shares one service and runs in order.
  fullyParallel: false,
  workers: process.env.TRUNKLINE_E2E_WORKERS ? Number(process.env.TRUNKLINE_E2E_WORKERS) : 1,
  timeout: 120_000,
  expect: { timeout: 10_000 },
  reporter: 'list',
  use: {
    viewport: { width: 1360, height: 860 },
    locale: 'en-GB',
    timezoneId: 'Europe/Amsterdam',
    colorScheme: 'light',
    launchOptions: { executablePath: process.env.TRUNKLINE_E2E_BROWSER ?? '/usr/bin/chromium', args: ['--no-sandbox'] },
    actionTimeout: 20_000,
    screenshot: 'only-on-failure',
    trace: 'retain-on-failure',
  },
  projects: [
    { name: 'desktop' },
    { name: 'phone', grep: /@phone/, use: { viewport: { width: 390, height: 844 }, hasTouch: true } },
    { name: 'dark', grep: /@dark/, use: { colorScheme: 'dark' } },
  ],
});
