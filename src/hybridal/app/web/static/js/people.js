/** The page of people: who may do what, invitations, and the LLM. */
import { get, patch } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, el, named, redraw } from "./dom.js";
import { whole } from "./format.js";
import { frame } from "./frame.js";
import { invitations } from "./invitations.js";
import { llmPanel } from "./llm-panel.js";
import { passwordDialog } from "./password.js";
import { toast, told } from "./toast.js";

const ROLES = ["annotator", "reviewer", "owner"];

const { project } = await frame;
let asked = 0;
const elsewhere = byId("newcomers"); // people sign in elsewhere: there are no passwords and no invitations here
await Promise.all([people, elsewhere ? newcomers : invitations, llmPanel].map(told));

async function newcomers() {
  elsewhere.newcomers.value = project.settings.newcomers;
  onSubmit(elsewhere, () =>
    told(async () => (await patch("/api/settings", { newcomers: elsewhere.newcomers.value }), toast("Saved."))),
  );
}

async function people() {
  const mine = ++asked;
  const { items } = await get("/api/people");
  if (mine !== asked) return; // a later change has overtaken this one
  redraw(byId("people"), items.map(row));
}

function row(person) {
  const change = (what) =>
    told(() => patch("/api/people", { number: person.number, ...what })).then(() => told(people));
  const fixed = person.kind !== "person" || person.name === project.me.name;
  const role = el(
    "select",
    { "aria-label": `Role of ${person.name}`, onchange: () => change({ role: role.value }) },
    ...ROLES.map((name) => el("option", { value: name, selected: name === person.role }, name)),
  );
  const active = el("input", {
    type: "checkbox",
    checked: person.active,
    "aria-label": `${person.name} may sign in`,
    onchange: () => change({ active: active.checked }),
  });
  const kinds = { file: "labels of the file", llm: "language model" };
  return el(
    "tr",
    {},
    el("td", {}, named(person.name), person.name === project.me.name ? " (you)" : ""),
    el("td", {}, fixed ? (kinds[person.kind] ?? person.role) : role),
    el("td", { class: "number" }, whole(person.labels)),
    el("td", { class: "number" }, whole(person.skips)),
    el("td", {}, fixed ? "" : active),
    el("td", {}, fixed || elsewhere ? "" : el("button", { type: "button", class: "plain", "aria-label": `Reset password of ${person.name}`, onclick: () => passwordDialog(person) }, "Reset password")),
  );
}
