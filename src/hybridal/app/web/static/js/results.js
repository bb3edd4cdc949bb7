/** The page Results: shares of classes with intervals, as charts and tables, and more random labels for them. */
import { get, getFile, link, post } from "./api.js";
import { shareChart, tableColumns, tableRow } from "./charts/shares.js";
import { table } from "./charts/figure.js";
import { onPress, onSubmit } from "./controls.js";
import { byId, el } from "./dom.js";
import { frame } from "./frame.js";
import { t, tn } from "./i18n.js";
import { showErrors, toast } from "./toast.js";

const MAX_CHARTS = 12;
const { project, trainer } = await frame;
const choice = byId("choose").elements;
const controls = ["column", "unit", "class"].map((name) => choice.namedItem(name));
const points = byId("planning").elements.namedItem("points");
let found = null;
let asked = 0;

for (const name of project.classes) choice.namedItem("class").append(el("option", { value: name.name }, name.name));
for (const control of controls) control.addEventListener("change", () => showErrors(draw));
byId("choose").addEventListener("submit", (event) => event.preventDefault());
onSubmit(byId("planning"), () => showErrors(draw));
if (byId("draw")) onSubmit(byId("draw"), () => showErrors(drawTexts));
onPress(byId("copy-methods"), () => copy(found.methods));
onPress(byId("copy-table"), () => copy(asMarkdown()));
for (const button of document.querySelectorAll("[data-file]")) onPress(button, () => showErrors(() => save(button.dataset.file)));
trainer.addEventListener("round", () => showErrors(draw));
for (const control of controls) control.disabled = false;
await showErrors(draw);

function query() {
  const [column, unit, name] = controls.map(({ value }) => value);
  return { by: column && unit ? `${unit}:${column}` : column, class: name };
}

async function draw() {
  const mine = ++asked;
  const answer = await get("/api/shares", { ...query(), points: points.value });
  if (mine !== asked) return; // something else was chosen meanwhile
  found = answer;
  const column = choice.namedItem("column");
  if (column.options.length === 1) for (const name of found.columns) column.append(el("option", { value: name }, name));
  byId("problem").textContent = found.problem;
  byId("problem").hidden = !found.problem;
  byId("found").hidden = Boolean(found.problem);
  byId("plan").textContent = found.plan ?? "";
  byId("waiting").textContent = found.waiting
    ? tn("{n} text that was drawn waits for a label.", "{n} texts that were drawn wait for a label.", found.waiting)
    : "";
  if (found.more_labels && byId("draw")) byId("draw").elements.namedItem("n").value = found.more_labels;
  if (found.problem) return;
  byId("methods").textContent = found.methods;
  byId("figures").replaceChildren(...figures());
}

function figures() {
  const shares = found.lines.filter(({ kind }) => kind === "share");
  const all = shares.filter(({ group }) => !group);
  const charts = [shareChart(t("Shares of all texts"), all, ({ name }) => name)];
  for (const name of found.groups.length ? found.classes.slice(0, MAX_CHARTS) : []) {
    const some = shares.filter((line) => line.group && line.name === name);
    charts.push(shareChart(t("Share of {name}", { name }), some, ({ group }) => group));
  }
  return [notes(), ...charts, ...changes()];
}

/** What the model adds, and which groups have too few random labels. */
function notes() {
  return el("figure", { class: "card wide" }, el("figcaption", {}, ...[found.gain, ...found.missing].filter(Boolean).map((one) => el("p", {}, one))));
}

/** The tables of differences and trends. */
function changes() {
  const titles = { difference: t("Differences in percentage points"), trend: t("Trends in percentage points") };
  return Object.entries(titles).flatMap(([kind, title]) => {
    const lines = found.lines.filter((line) => line.kind === kind);
    if (!lines.length) return [];
    const rows = lines.map((line) => tableRow(line, nameOf));
    return [el("figure", { class: "card wide" }, el("figcaption", {}, el("h2", {}, title)), table(title, tableColumns(), rows))];
  });
}

function nameOf({ kind, name, group, other }) {
  const compared = other || t("all other texts");
  if (kind === "difference") return t("{name}: {group} minus {other}", { name, group, other: compared });
  return group ? t("{name}: {group}", { name, group }) : name;
}

/** All numbers as a table for a text processor. */
function asMarkdown() {
  const line = (cells) => `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
  const rows = found.lines.map((one) => line(tableRow(one, nameOf)));
  return [line(tableColumns()), line(tableColumns().map(() => "---")), ...rows].join("\n");
}

async function copy(text) {
  await showErrors(async () => {
    // Browsers offer the clipboard API only over https and on localhost.
    if (!navigator.clipboard) throw new Error(t("This browser copies over https only; download the file instead."));
    await navigator.clipboard.writeText(text);
    toast(t("Copied"));
  });
}

async function save(kind) {
  const given = Object.entries(query()).filter(([, value]) => value);
  const file = await getFile(link(`/api/shares/file.${kind}?${new URLSearchParams(given)}`));
  const address = URL.createObjectURL(file);
  el("a", { href: address, download: `shares.${kind}` }).click();
  URL.revokeObjectURL(address);
}

async function drawTexts() {
  const { drawn, waiting } = await post("/api/shares/draw", { n: Number(byId("draw").elements.namedItem("n").value) });
  toast(
    tn("{n} more text was drawn; {waiting} wait for a label on the page Label.", "{n} more texts were drawn; {waiting} wait for a label on the page Label.", drawn, {
      waiting,
    }),
  );
  await draw();
}
