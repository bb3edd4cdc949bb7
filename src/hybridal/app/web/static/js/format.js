/** Numbers, shares and times formatted for people. */

const WHOLE = new Intl.NumberFormat("en");
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** 12345 -> "12,345" */
export const whole = (n) => WHOLE.format(n);

/** "1 text", "2 texts" */
export const count = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;

/** 0.8333 -> "83%"; a dash for null */
export const percent = (share) => (share == null ? "–" : `${Math.round(share * 100)}%`);

/** A number with three decimals, or a dash for null. */
export const figure = (value, digits = 3) => (value == null ? "–" : value.toFixed(digits));

/** 75 -> "1 min 15 s"; 7300 -> "2 h 2 min" */
export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return s % 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s / 60} min`;
  const minutes = Math.round((s % 3600) / 60);
  return minutes ? `${Math.floor(s / 3600)} h ${minutes} min` : `${Math.floor(s / 3600)} h`;
}

/** How long ago a moment (in seconds since 1970) was, or how far ahead it is. */
export function ago(moment, now = Date.now() / 1000) {
  const seconds = moment - now;
  for (const [unit, size] of [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ]) {
    if (Math.abs(seconds) >= size) return AGO.format(Math.round(seconds / size), unit);
  }
  return "just now";
}
