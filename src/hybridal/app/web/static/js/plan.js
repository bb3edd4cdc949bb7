/** The forms of the page Settings for plan, model and guidelines. */
import { getProject, patch } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { toast, showErrors } from "./toast.js";

/** Fills the forms of plan and model, and saves the changed fields of each. */
export async function plan() {
  const { settings } = await getProject();
  for (const form of [byId("plan"), byId("model")]) {
    fill(form, settings);
    form.querySelector("fieldset").disabled = false;
    onSubmit(form, () => showErrors(() => save(form)));
  }
}

export function guidelines() {
  const form = byId("guidelines-form");
  onSubmit(form, () =>
    showErrors(async () => {
      await patch("/api/settings", { guidelines: form.elements.guidelines.value });
      toast(t("Saved. People see the new guidelines when they next open the page Label."));
    }),
  );
}

let shown = {};

function fill(form, settings) {
  shown = settings;
  for (const control of fields(form)) {
    if (control.type === "checkbox") control.checked = settings[control.name];
    else control.value = settings[control.name];
  }
}

async function save(form) {
  const changed = fields(form).filter((control) => valueOf(control) !== shown[control.name]);
  fill(form, await patch("/api/settings", Object.fromEntries(changed.map((control) => [control.name, valueOf(control)]))));
  toast(t("Saved."));
}

const fields = (form) => [...form.elements].filter((control) => control.name);

function valueOf(control) {
  if (control.type === "checkbox") return control.checked;
  return control.type === "number" ? Number(control.value) : control.value;
}
