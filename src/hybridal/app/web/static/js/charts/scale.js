/** Scales from values to pixels, and the ticks of axes. */

/** About `wanted` round numbers within a range. */
export function ticks(low, high, wanted = 5) {
  const rough = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Whole numbers only: rounds, labels. */
export function wholeTicks(low, high, wanted = 8) {
  return [...new Set(ticks(low, high, Math.max(1, Math.min(wanted, high - low))).filter(Number.isInteger))];
}

/** A linear scale from values to pixels. */
export function linear([low, high], [from, to]) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** A logarithmic scale; values below the range are placed at its lower end. */
export function logarithmic([low, high], [from, to]) {
  const scale = linear([Math.log(low), Math.log(high)], [from, to]);
  return (value) => scale(Math.log(Math.max(value, low)));
}
