/** The page Audit log. */
import { get } from "./api.js";
import { onPress } from "./controls.js";
import { bdi, byId, el } from "./dom.js";
import { ago, moment } from "./format.js";
import { frame } from "./frame.js";
import { t } from "./i18n.js";
import { actionTitle, detailName, detailValue } from "./log-words.js";
import { showErrors } from "./toast.js";

await frame;
let next = null;
onPress(byId("older"), () => showErrors(() => load(next)));
byId("area").addEventListener("change", () => showErrors(() => load(null)));
byId("area").disabled = false;
await showErrors(() => load(null));

async function load(before) {
  const found = await get("/api/audit", { before, area: byId("area").value });
  const rows = found.items.map(row);
  if (before === null) byId("entries").replaceChildren(...(rows.length ? rows : [el("li", { class: "nothing" }, t("Nothing yet."))]));
  else byId("entries").append(...rows);
  next = found.next;
  byId("older").hidden = next === null;
}

function row({ at, person, area, action, details }) {
  const facts = Object.entries(details).flatMap(([name, value]) => [
    el("dt", {}, detailName(area, name)),
    el("dd", { dir: "auto" }, detailValue(name, value)),
  ]);
  return el(
    "li",
    {},
    el("div", {}, el("p", {}, el("b", {}, actionTitle(area, action))), el("dl", { class: "fact" }, ...facts)),
    el("span", { class: "muted small", title: moment(at) }, ...(person ? [bdi(person), ` · ${ago(at)}`] : [ago(at)])),
  );
}
