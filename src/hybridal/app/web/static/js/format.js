/** Numbers, shares and times formatted for people. */
import { language, t } from "./i18n.js";

const PERCENT = new Intl.NumberFormat(language, { style: "percent" });
const MOMENT = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const AGO = new Intl.RelativeTimeFormat(language, { numeric: "auto" });

/** 0.8333 -> "83%"; a dash for null */
export const percent = (share) => (share == null ? "–" : PERCENT.format(share));

/** A number with a fixed count of decimals, or a dash for null. */
export const figure = (value, digits = 3) =>
  value == null ? "–" : value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** 75 -> "1 min 15 s"; 7300 -> "2 h 2 min" */
export function duration(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return t("{seconds} s", { seconds: s });
  const minutes = Math.floor(s / 60);
  if (s < 3600) return s % 60 ? t("{minutes} min {seconds} s", { minutes, seconds: s % 60 }) : t("{minutes} min", { minutes });
  const rest = Math.round((s % 3600) / 60);
  const hours = Math.floor(s / 3600);
  return rest ? t("{hours} h {minutes} min", { hours, minutes: rest }) : t("{hours} h", { hours });
}

/** How long ago a moment (in seconds since 1970) was, or how far ahead it is. */
export function ago(at, now = Date.now() / 1000) {
  const seconds = at - now;
  for (const [unit, size] of [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ]) {
    if (Math.abs(seconds) >= size) return AGO.format(Math.round(seconds / size), unit);
  }
  return t("just now");
}

/** A moment (in seconds since 1970) as a date and a time of day. */
export const moment = (seconds) => MOMENT.format(seconds * 1000);
