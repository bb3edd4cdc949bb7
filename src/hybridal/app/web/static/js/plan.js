/** How much is labelled, how, and by which guidelines: the settings that can change while people work. */
import { getProject, patch } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, el } from "./dom.js";
import { toast, told } from "./toast.js";

const FIELDS = [
  ["budget", "Labels planned", { type: "number", min: 1 }],
  ["batch", "New labels until the model learns again", { type: "number", min: 1 }],
  ["validation_share", "Share of labels set aside for validation", { type: "number", min: 0, max: 0.5, step: 0.01 }],
  ["overlap", "Share of new texts that two people label", { type: "number", min: 0, max: 1, step: 0.01 }],
  ["max_length", "Tokens of a text that the model reads (more is slower; another number begins a new model)", { type: "number", min: 8, max: 8192 }],
];
const SWITCHES = [
  ["show_predictions", "Show the model's prediction while labelling (it may sway people)"],
  ["open_classes", "Reviewers may add classes while labelling"],
];

export async function plan() {
  const { settings } = await getProject();
  const form = byId("plan");
  const fields = FIELDS.map(([name, label, kind]) =>
    el("label", {}, label, el("input", { name, value: settings[name], required: true, ...kind })),
  );
  const switches = SWITCHES.map(([name, label]) =>
    el("label", { class: "check" }, el("input", { type: "checkbox", name, checked: Boolean(settings[name]) }), label),
  );
  form.replaceChildren(...fields, ...switches, el("div", {}, el("button", { class: "main" }, "Save")));
  onSubmit(form, () => told(save));
}

export function guidelines() {
  const form = byId("guidelines-form");
  onSubmit(form, () =>
    told(async () => {
      await patch("/api/settings", { guidelines: form.elements.guidelines.value });
      toast("Saved. Whoever opens the page Label from now on sees them.");
    }),
  );
}

async function save() {
  const { elements } = byId("plan");
  const numbers = FIELDS.map(([name]) => [name, Number(elements[name].value)]);
  const choices = SWITCHES.map(([name]) => [name, elements[name].checked]);
  await patch("/api/settings", Object.fromEntries([...numbers, ...choices]));
  toast("Saved.");
}
