/** A balance that lasts less than this many days needs attention. */
export const SHORT_RUNWAY_DAYS = 3;
