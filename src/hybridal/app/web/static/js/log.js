/** The page Audit log. */
import { get } from "./api.js";
import { onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { ago, moment } from "./format.js";
import { frame } from "./frame.js";
import { t } from "./i18n.js";
import { showErrors } from "./toast.js";

const TITLES = {
  settings: { change: t("Settings changed") },
  people: {
    invite: t("Invitation created"),
    revoke: t("Invitation revoked"),
    join: t("Person joined"),
    change: t("Person changed"),
    password: t("Password set"),
    token: t("Access token created"),
    revoke_token: t("Access token revoked"),
  },
  exports: { export: t("File exported") },
};

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
  const title = TITLES[area]?.[action] ?? t("Codebook changed: {action}", { action });
  const facts = Object.entries(details).flatMap(([name, value]) => [el("dt", {}, name), el("dd", { dir: "auto" }, inWords(value))]);
  return el(
    "li",
    {},
    el("div", {}, el("p", {}, el("b", {}, title)), el("dl", { class: "fact" }, ...facts)),
    el("span", { class: "muted small", title: moment(at) }, person ? `${person}, ${ago(at)}` : ago(at)),
  );
}

/** A value, or one before and after. */
function inWords(value) {
  const shown = (one) => (one === "" ? "–" : typeof one === "object" ? JSON.stringify(one) : String(one));
  return Array.isArray(value) && value.length === 2 ? `${shown(value[0])} → ${shown(value[1])}` : shown(value);
}
