/** The form of the page Settings for what labels cost. */
import { get, put } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { showErrors, toast } from "./toast.js";

export async function prices() {
  const form = byId("prices");
  const { prices: known } = await get("/api/spending");
  for (const [name, value] of Object.entries(known)) form.elements[name].value = value ?? "";
  form.querySelector("fieldset").disabled = false;
  onSubmit(form, () => showErrors(() => save(form)));
}

async function save({ elements }) {
  const price = ({ value }) => (value === "" ? null : Number(value));
  await put("/api/spending/prices", {
    people: price(elements.people),
    people_per: elements.people_per.value,
    model: price(elements.model),
    model_per: elements.model_per.value,
  });
  toast(t("Saved."));
}
