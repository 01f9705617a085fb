// The pictures of the README: node tools/screenshots.mjs [FOLDER]
// On demo data with live calls, each in light and dark. The browser's clock stands still, so that "3 minutes ago" is the
// same in all of them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, withDemoService } from './demo_service.mjs';
import { ADMIN, CUSTOMER, launch, settled, signedIn } from './pictures.mjs';

const folder = process.argv[2] ?? join(root, 'docs/screenshots');
const LIVE_CALLS_MS = 25_000;
const MAX_BYTES = 150_000;
const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 780 };

const PICTURES = [
  { name: 'home', who: CUSTOMER, size: DESKTOP, schemes: ['light', 'dark'], path: async () => '/' },
  { name: 'call', who: CUSTOMER, size: DESKTOP, schemes: ['light'], path: async (read) => `/calls/${(await read('/cdrs?status=answered&limit=5')).data[0].id}` },
  { name: 'trunk', who: CUSTOMER, size: DESKTOP, schemes: ['light'], path: async (read) => `/trunks/${(await read('/trunks')).data[0].id}/connect` },
  { name: 'team', who: ADMIN, size: DESKTOP, schemes: ['light', 'dark'], path: async () => '/team' },
  { name: 'routes', who: ADMIN, size: DESKTOP, schemes: ['light'], path: async () => '/team/routes?number=%2B31612345678' },
  { name: 'phone', who: CUSTOMER, size: PHONE, schemes: ['light'], path: async () => '/' },
];

/** PNG to WebP by the browser itself, as good as fits. */
async function compressed(page, png) {
  for (const quality of [0.92, 0.85, 0.78, 0.7, 0.6]) {
    const url = await page.evaluate(
      async ([data, quality]) => {
        const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
        const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
        const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
        canvas.getContext('2d').drawImage(image, 0, 0);
        return canvas.toDataURL('image/webp', quality);
      },
      [png.toString('base64'), quality],
    );
    const webp = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
    if (webp.length <= MAX_BYTES) return webp;
  }
  throw new Error(`a picture is larger than ${MAX_BYTES} bytes`);
}

await withDemoService({ live: true }, async (url) => {
  await new Promise((resolve) => setTimeout(resolve, LIVE_CALLS_MS));
  const now = new Date();
  const browser = await launch();
  const blank = await (await browser.newContext()).newPage();
  mkdirSync(folder, { recursive: true });
  for (const { name, who, size, schemes, path } of PICTURES) {
    for (const colorScheme of schemes) {
      const { context, page, read } = await signedIn(browser, url, who, { viewport: size, colorScheme, deviceScaleFactor: 2, reducedMotion: 'reduce' });
      await page.clock.setFixedTime(now);
      await page.goto(await path(read));
      await settled(page);
      const picture = await compressed(blank, await page.screenshot());
      writeFileSync(join(folder, `${name}-${colorScheme}.webp`), picture);
      console.log(`${name}-${colorScheme}.webp ${Math.round(picture.length / 1000)} kB`);
      await context.close();
    }
  }
  await browser.close();
});
console.log(`The pictures are in ${folder}.`);
