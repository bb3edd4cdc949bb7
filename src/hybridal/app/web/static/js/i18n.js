/** Texts of the page in the reader's language. The English text is the key; one that is not translated stays English. */

const { lang, dataset } = document.documentElement;

/** The language of the page, such as "de". */
export const language = lang;

const UNTRANSLATED = { messages: {}, plurals: {}, forms: {} };
// English has no file. Where the file cannot be loaded, English is better than a page that does not start.
const { messages, plurals, forms } = dataset.messages
  ? await fetch(dataset.messages).then((reply) => reply.json()).catch(() => UNTRANSLATED)
  : UNTRANSLATED;

const CATEGORY = new Intl.PluralRules(language);
const WHOLE = new Intl.NumberFormat(language);
const LIST = new Intl.ListFormat(language, { type: "unit", style: "short" });

/** 12345 -> "12,345" */
export const whole = (n) => WHOLE.format(n);

/** ["a", "b", "c"] -> "a, b, c" @param {Iterable<string>} names */
export const listed = (names) => LIST.format(names);

/** Marks a text for the catalogues where it is defined; `t` translates it where it is shown. */
export const translatable = (text) => text;

/** Translates a text and replaces each {name} by its value. @param {string} text @param {Record<string, unknown>} [values] */
export const t = (text, values) => fill(messages[text] ?? text, values).join("");

/** The same where values are elements. @returns {(string | Node)[]} for `append` */
export const tParts = (text, values) => fill(messages[text] ?? text, values);

/**
 * Translates a text that depends on a number, which replaces {n}.
 * @param {string} one the English text for 1 @param {string} many that for other numbers @param {number} n
 * @param {Record<string, unknown>} [values]
 */
export const tn = (one, many, n, values) => fill(plural(one, many, n), { n: whole(n), ...values }).join("");

/** The same where values are elements. @returns {(string | Node)[]} for `append` */
export const tnParts = (one, many, n, values) => fill(plural(one, many, n), { n: whole(n), ...values });

function plural(one, many, n) {
  const translated = plurals[one];
  if (translated) return translated[forms[CATEGORY.select(n)] ?? forms.other];
  return n === 1 ? one : many;
}

function fill(text, values = {}) {
  const parts = text.split(/\{(\w+)\}/); // every second part is a name
  return parts.map((part, at) => (at % 2 ? (values[part] ?? `{${part}}`) : part)).filter((part) => part !== "");
}
