/** The sign-in page, and the page that accepts an invitation. */
import { link, post } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { deleteCopy } from "./offline-copy.js";

const form = byId("sign-in");
if (form) onSubmit(form, enter);
// This browser is not signed in any more, perhaps because its session has expired.
if (location.pathname === link("/login")) deleteCopy().catch(() => {});

async function enter() {
  const { token } = form.dataset;
  const given = Object.fromEntries(new FormData(form));
  const button = form.querySelector("button");
  button.ariaBusy = "true"; // not disabled: it would lose the focus
  try {
    await (token ? post("/api/join", { token, ...given }) : post("/api/login", given));
    location.assign(link("/"));
  } catch (error) {
    form.querySelector(".problem").textContent = error.message;
    button.ariaBusy = "false";
  }
}
