// The contrast of every element that has words of its own, or stands empty with a hint in it, with the nearest painted background behind it.
() => {
  const parse = (colour) => {
    const numbers = colour.match(/[\d.]+/g).map(Number);
    return numbers.length > 3 && numbers[3] < 1 ? null : numbers;
  };
  const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    return parse(getComputedStyle(element).backgroundColor) ?? behind(element.parentElement);
  };
  const isWorded = (element) =>
    element.checkVisibility() &&
    !element.closest(".unseen, svg, :disabled") &&
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const contrast = (element, part) => {
    const [darker, lighter] = [parse(getComputedStyle(element, part).color), behind(element)]
      .map(light)
      .sort((a, b) => a - b);
    return [(lighter + 0.05) / (darker + 0.05), (element.placeholder ?? element.textContent).trim().slice(0, 40)];
  };
  const hints = [...document.querySelectorAll("[placeholder]:enabled")].filter((field) => field.checkVisibility());
  return [
    ...[...document.querySelectorAll("body *")].filter(isWorded).map((element) => contrast(element)),
    ...hints.map((field) => contrast(field, "::placeholder")),
  ];
};
