// The zone that times are shown in: the reader's, or UTC.
import { ownZone } from './formatters';

const STORE = 'trunkline.utc';
let utc = $state(localStorage.getItem(STORE) === '1');

export const zone = {
  get utc() { return utc; },
  set utc(value: boolean) {
    utc = value;
    localStorage.setItem(STORE, value ? '1' : '0');
  },
  get name() { return utc ? 'UTC' : ownZone; },
};
