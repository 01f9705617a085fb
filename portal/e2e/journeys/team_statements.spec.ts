// Statements of upstreams: mapped, compared with our CDRs, read by kind, and taken along for the dispute.
import { readFileSync } from 'node:fs';
import { CSV, XLSX, type Upload } from '../files';
import { apiAs, expect, expectAccessible, people, signInAs, signInByLink, test, type Page } from '../world';

// No mapping is saved yet.
test.use({ expectedErrors: [/status of 404/] });

const NAME = 'Meridian Carrier Services';
type Call = { called: string; started_at: string; duration_seconds: number; our_cost: { amount: string } };

async function meridian(request: Parameters<typeof apiAs>[0]) {
  const admin = await apiAs(request, people.admin);
  const upstreams: { id: string; name: string }[] = (await admin.get('/admin/upstreams')).data;
  const id = upstreams.find(({ name }) => name === NAME)?.id ?? '';
  const { data } = await admin.get(`/admin/cdrs?upstream_id=${id}&status=answered&leg=termination&limit=50`);
  // Two calls of the same number could be told apart by their starts only.
  const calls: Call[] = (data as Call[]).filter((call, at, all) => all.findIndex(({ called }) => called === call.called) === at);
  return { admin, id, path: `/team/upstreams/${id}`, calls };
}

async function send(page: Page, file: Upload) {
  await page.getByRole('button', { name: 'Reconcile statement' }).click();
  const form = page.getByRole('dialog', { name: 'Reconcile statement' });
  await form.getByLabel(/^Statement \(CSV or XLSX\)/).setInputFiles(file);
  await form.getByRole('button', { name: 'Upload and compare' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Statement', exact: true })).toBeVisible();
}

const line = ({ called, started_at, duration_seconds, our_cost }: Call, longer = 0, dearer = 0) =>
  [called, started_at, duration_seconds + longer, (Number(our_cost.amount) + dearer).toFixed(9)].join(';');

test('a statement is mapped, compared, read by kind and downloaded for the dispute @phone @dark @postgres', async ({ page, request }) => {
  test.slow();
  const { admin, id, path, calls } = await meridian(request);
  const [same, longer, missing, dearer, last] = calls as [Call, Call, Call, Call, Call];
  const madeUp = { ...dearer, called: '+31209990002', duration_seconds: 310, our_cost: { amount: '0.0217' } };
  const lines = [line(same), line(longer, 60, 0.5), line(dearer, 0, 0.25), line(last), line(madeUp)];
  await signInAs(page, people.admin, path);
  const list = page.getByRole('region', { name: 'Statements, newest first' });
  await expect(page.getByRole('heading', { name: 'Statements' })).toBeVisible();

  // Without a file, and with a period that ends before it begins, nothing is sent.
  await page.getByRole('button', { name: 'Reconcile statement' }).click();
  const form = page.getByRole('dialog', { name: 'Reconcile statement' });
  await form.getByLabel(/^Calls from/).fill('2026-02-01T00:00');
  await form.getByLabel(/^Calls before/).fill('2026-01-01T00:00');
  await form.getByRole('button', { name: 'Upload and compare' }).click();
  await expect(form.getByLabel(/^Statement \(CSV or XLSX\)/)).toHaveAttribute('aria-invalid', 'true');
  await expect(form.getByLabel(/^Calls before/)).toHaveAttribute('aria-invalid', 'true');
  await expectAccessible(page);
  await form.getByRole('button', { name: 'Cancel' }).click();

  // Headers that nobody knows: the file is not compared until a mapping names them.
  const odd = CSV('odd.csv', 'Wohin;Wann;Wie lang;Wert', ...lines);
  await send(page, odd);
  await expect(page.getByText('The statement was not compared')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Errors by line' })).toContainText('there is no header');
  await expect(page.getByText('No mapping was saved, and the header was not recognised.')).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Statement mapping' }).click();
  const mapping = page.getByRole('dialog', { name: 'Statement mapping' });
  await expect(mapping.getByText('No mapping is saved. Name the headers here.')).toBeVisible();
  await mapping.getByLabel(/^Header of called numbers/).fill('Wohin');
  await mapping.getByLabel(/^Header of starts/).fill('Wann');
  await mapping.getByLabel(/^Header of durations/).fill('Wie lang');
  await mapping.getByRole('button', { name: 'Save mapping' }).click();
  await expect(mapping.getByText(/must name either cost or rate_per_minute/)).toBeVisible();
  await mapping.getByLabel(/^Header of costs/).fill('Wert');
  await mapping.getByLabel(/^Time zone/).fill('Mars/Olympus');
  await mapping.getByRole('button', { name: 'Save mapping' }).click();
  await expect(mapping.getByLabel(/^Time zone/)).toHaveAttribute('aria-invalid', 'true');
  await mapping.getByLabel(/^Time zone/).fill('Europe/Amsterdam');
  await mapping.getByLabel(/^Starts may be apart by/).fill('20');
  await expectAccessible(page);
  await mapping.getByRole('button', { name: 'Save mapping' }).click();
  await expect(mapping).toBeHidden();
  expect((await admin.get(`/admin/upstreams/${id}/statement-mapping`)).columns.cost).toBe('Wert');

  // The same file again.
  await page.goto(path);
  await send(page, odd);
  const totals = page.getByRole('region', { name: 'Counts and sums by kind' });
  const count = (kind: string) => totals.getByRole('row', { name: new RegExp(`^${kind}`) }).getByRole('cell').nth(1);
  await expect(count('Only in the statement')).toHaveText('1');
  await expect(count('Duration differs')).toHaveText('1');
  await expect(count('Cost or rate differs')).toHaveText('1');
  await expect(count('Matched')).toHaveText('2');
  await expect(page.getByText('20 s between starts, 2 s between durations')).toBeVisible();
  await expect(page.getByRole('definition').filter({ hasText: 'Wie lang' })).toBeVisible();

  // The first kind with calls is shown; the others are a click away, and the address keeps the choice.
  const shown = page.getByRole('region', { name: 'Calls of this kind' });
  await expect(page.getByRole('heading', { name: 'Only in our CDRs' })).toBeVisible();
  await expect(shown.getByRole('row').nth(1)).toBeVisible();
  const ours = await admin.get(`${page.url().replace(/^.*\/team/, '/admin')}/lines?kind=only_ours`);
  expect(ours.data.map(({ called }: Call) => called)).toContain(missing.called);
  await page.getByRole('link', { name: /^Only in the statement/ }).click();
  await expect(shown.getByRole('row')).toHaveCount(2);
  await expect(shown.getByRole('row').nth(1)).toContainText('5:10');
  await expect(shown.getByRole('row').nth(1)).toContainText('+€0.0217');
  await page.getByRole('link', { name: /^Cost or rate differs/ }).click();
  await expect(page).toHaveURL(/kind=rate_differs/);
  await page.reload();
  await expect(shown.getByRole('row').nth(1)).toContainText('+€0.25');
  await expectAccessible(page);
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download CSV' }).click()]);
  expect(file.suggestedFilename()).toMatch(/^statement-.*-rate_differs\.csv$/);
  const saved = readFileSync(await file.path(), 'utf8').trim().split('\n');
  expect(saved).toHaveLength(2);
  expect(saved[1]).toContain(dearer.called);
  await shown.getByRole('link', { name: 'Open' }).click();
  await expect(page).toHaveURL(/\/team\/calls\//);

  await page.goto(path);
  await expect(list.getByRole('row').nth(1)).toContainText('Completed');
  await expect(list.getByRole('row').nth(2)).toContainText('Failed');
});

test('a workbook with errors names their cells, and support only reads', async ({ page, request, service }) => {
  const { admin, path, calls } = await meridian(request);
  const [call] = calls as [Call];
  const header = ['called_number', 'started_at', 'duration_seconds', 'cost'];
  await admin.post('/admin/users', { email: 'stella@carrier.example', name: 'Stella Support', roles: ['support'] });
  const carrier = await admin.post('/admin/upstreams', { name: 'Quiet Statements', dispatcher_group_id: 78, base_currency: 'EUR', markup_percent: 20 });
  await signInAs(page, people.admin, `/team/upstreams/${carrier.id}`);
  await expect(page.getByText('No statement yet')).toBeVisible();
  await send(page, XLSX('cells.xlsx', { Calls: [header, [call.called, call.started_at, 'a minute', '=1/80']] }));
  const faults = page.getByRole('region', { name: 'Errors by line' });
  await expect(faults.getByRole('row').nth(1)).toContainText('C2');
  await expect(faults.getByRole('row').nth(2)).toContainText('D2');
  const failed = new URL(page.url()).pathname;

  // Our own header needs no mapping.
  await page.goto(`/team/upstreams/${carrier.id}`);
  await send(page, XLSX('own.xlsx', { Calls: [header, [call.called, call.started_at, 60, 0.01]] }));
  await expect(page.getByText('By our own header, which needs no mapping.')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Only in the statement' })).toBeVisible();

  await signInByLink(page, service, 'stella@carrier.example', failed);
  await expect(faults.getByRole('row').nth(1)).toContainText('C2');
  await page.goto(path);
  const button = page.getByRole('button', { name: 'Reconcile statement' });
  await expect(button).toHaveAttribute('aria-disabled', 'true');
  await expect(button).toHaveAccessibleDescription('Only an admin can do this.');
  await page.getByRole('button', { name: 'Statement mapping' }).click();
  await expect(page.getByRole('button', { name: 'Save mapping' })).toHaveAttribute('aria-disabled', 'true');
});
