/** The page People: members and roles, invitations, and the language model as annotator. */
import { get, patch } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, el, bdi, replaceContent } from "./dom.js";
import { t, whole } from "./i18n.js";
import { frame } from "./frame.js";
import { invitations } from "./invitations.js";
import { llmPanel } from "./llm-panel.js";
import { passwordDialog } from "./password.js";
import { ROLES, roleName } from "./roles.js";
import { toast, showErrors } from "./toast.js";

const { project } = await frame;
let latestRequest = 0;
const newcomersForm = byId("newcomers"); // only behind a sign-in proxy: no passwords and no invitations then
await Promise.all([people, newcomersForm ? newcomers : invitations, llmPanel].map(showErrors));

async function newcomers() {
  newcomersForm.newcomers.value = project.settings.newcomers;
  onSubmit(newcomersForm, () =>
    showErrors(async () => (await patch("/api/settings", { newcomers: newcomersForm.newcomers.value }), toast(t("Saved.")))),
  );
}

async function people() {
  const request = ++latestRequest;
  const { items } = await get("/api/people");
  if (request !== latestRequest) return; // superseded by a later request
  replaceContent(byId("people"), items.map(row));
}

function row(person) {
  const change = (what) =>
    showErrors(() => patch("/api/people", { number: person.number, ...what })).then(() => showErrors(people));
  const fixed = person.kind !== "person" || person.name === project.me.name;
  const role = el(
    "select",
    { "aria-label": t("Role of {name}", person), onchange: () => change({ role: role.value }) },
    ...ROLES.map((name) => el("option", { value: name, selected: name === person.role }, roleName(name))),
  );
  const active = el("input", {
    type: "checkbox",
    checked: person.active,
    "aria-label": t("{name} may sign in", person),
    onchange: () => change({ active: active.checked }),
  });
  const kinds = { file: t("labels from files"), llm: t("language model") };
  return el(
    "tr",
    {},
    el("td", {}, bdi(person.name), person.name === project.me.name ? ` ${t("(you)")}` : ""),
    el("td", {}, fixed ? (kinds[person.kind] ?? roleName(person.role)) : role),
    el("td", { class: "number" }, whole(person.labels)),
    el("td", { class: "number" }, whole(person.skips)),
    el("td", {}, fixed ? "" : active),
    el("td", {}, fixed || newcomersForm ? "" : el("button", { type: "button", class: "plain", "aria-label": t("Reset password of {name}", person), onclick: () => passwordDialog(person) }, t("Reset password"))),
  );
}
