/** Invitation links: create, list, withdraw. */
import { get, post } from "./api.js";
import { singleFlight, onSubmit } from "./controls.js";
import { bindCopyButton } from "./copy-button.js";
import { byId, el, replaceContent } from "./dom.js";
import { ago } from "./format.js";
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
  const state = invitation.used_by
    ? `used by ${invitation.used_by}`
    : invitation.revoked
      ? "withdrawn"
      : invitation.until * 1000 < Date.now()
        ? "expired"
        : `open, expires ${ago(invitation.until)}`;
  const revoke = singleFlight(() =>
    showErrors(async () => (await post(`/api/invitations/${invitation.number}/revoke`), await list())),
  );
  const action = state.startsWith("open")
    ? el("button", { type: "button", class: "plain", "aria-label": `Withdraw the ${invitation.role}'s link`, onclick: revoke }, "Withdraw")
    : "";
  return el("tr", {}, el("td", {}, invitation.role), el("td", {}, state), el("td", {}, action));
}
