/** Invitation links: create, list, withdraw. */
import { get, post } from "./api.js";
import { singleFlight, onSubmit } from "./controls.js";
import { bindCopyButton } from "./copy-button.js";
import { byId, el, replaceContent } from "./dom.js";
import { ago } from "./format.js";
import { t } from "./i18n.js";
import { roleName } from "./roles.js";
import { showErrors } from "./toast.js";

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

export async function invitations() {
  byId("only-here").hidden = !LOOPBACK.includes(location.hostname);
  onSubmit(byId("invite"), () => showErrors(invite));
  bindCopyButton(byId("copy"), byId("link"));
  await list();
}

async function invite() {
  const { role } = Object.fromEntries(new FormData(byId("invite")));
  const made = await post("/api/invitations", { role });
  byId("fresh-link").hidden = false;
  byId("link").value = new URL(made.path, location.origin).href;
  byId("link").select();
  await list();
}

async function list() {
  const { items } = await get("/api/invitations");
  const table = byId("invitations");
  table.parentElement.hidden = !items.length;
  replaceContent(table.tBodies[0], items.map(row));
}

function row(invitation) {
  const { used_by: usedBy, revoked, until } = invitation;
  const isOpen = !usedBy && !revoked && until * 1000 >= Date.now();
  const state = usedBy
    ? t("used by {name}", { name: usedBy })
    : revoked
      ? t("withdrawn")
      : isOpen
        ? t("open, expires {when}", { when: ago(until) })
        : t("expired");
  const revoke = singleFlight(() =>
    showErrors(async () => (await post(`/api/invitations/${invitation.number}/revoke`), await list())),
  );
  const action = isOpen
    ? el("button", { type: "button", class: "plain", "aria-label": t("Withdraw the link for the role {role}", { role: roleName(invitation.role) }), onclick: revoke }, t("Withdraw"))
    : "";
  return el("tr", {}, el("td", {}, roleName(invitation.role)), el("td", {}, state), el("td", {}, action));
}
