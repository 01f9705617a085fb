// "Firefox on Linux" from a User-Agent header; programs keep the name they gave.
import { words } from './words';

const BROWSERS: [RegExp, string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];
const SYSTEMS: [RegExp, string][] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux|X11/, 'Linux'],
];

const find = (table: [RegExp, string][], text: string) => table.find(([pattern]) => pattern.test(text))?.[1];

export function deviceName(agent: string | null): string {
  if (!agent) return words.devices.unknown;
  const browser = find(BROWSERS, agent);
  const system = find(SYSTEMS, agent);
  return browser && system ? words.devices.on(browser, system) : agent.slice(0, 60);
}
