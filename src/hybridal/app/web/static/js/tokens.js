/** API tokens: create, list, withdraw. */
import { get, post } from "./api.js";
import { singleFlight, onSubmit } from "./controls.js";
import { bindCopyButton } from "./copy-button.js";
import { byId, el, bdi, replaceContent } from "./dom.js";
import { ago } from "./format.js";
import { t } from "./i18n.js";
import { roleName } from "./roles.js";
import { showErrors } from "./toast.js";

export async function tokens() {
  onSubmit(byId("new-token"), (form) => showErrors(() => make(form)));
  bindCopyButton(byId("copy-token"), byId("token"));
  await list();
}

async function make(form) {
  const { token } = await post("/api/tokens", Object.fromEntries(new FormData(form)));
  byId("fresh-token").hidden = false;
  byId("token").value = token;
  byId("token").select();
  form.reset();
  await list();
}

async function list() {
  const { items } = await get("/api/tokens");
  const table = byId("tokens");
  table.parentElement.hidden = !items.length;
  replaceContent(table.tBodies[0], items.map(row));
}

function row(token) {
  const revoke = singleFlight(() => showErrors(async () => (await post(`/api/tokens/${token.number}/revoke`), await list())));
  return el(
    "tr",
    {},
    el("td", {}, bdi(token.name)),
    el("td", {}, bdi(token.person)),
    el("td", {}, roleName(token.role)),
    el("td", {}, ago(token.made)),
    el("td", {}, token.used ? ago(token.used) : t("never")),
    el("td", {}, el("button", { type: "button", class: "plain", "aria-label": t("Withdraw {name}", token), onclick: revoke }, t("Withdraw"))),
  );
}
