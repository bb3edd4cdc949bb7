/** The frame of every page for signed-in people: project name, save state, the trainer's bar. */
import { getProject, link, post, ApiError } from "./api.js";
import { onPress } from "./controls.js";
import { byId, setText } from "./dom.js";
import { t, tn } from "./i18n.js";
import { Outbox } from "./outbox.js";
import { passwordDialog } from "./password.js";
import { showErrors, toast } from "./toast.js";
import { TrainerBar } from "./trainer-bar.js";

const SEND_TIMEOUT = 30; // seconds until sending an annotation is given up and retried

/** Resolves to `{project, outbox, trainer}` once the project is known. */
export const frame = start();
showErrors(() => frame); // show why a page cannot start

async function start() {
  const project = await withRetry(getProject);
  const leave = byId("sign-out");
  if (leave) onPress(leave, () => showErrors(signOut));
  if (byId("change-password")) onPress(byId("change-password"), () => passwordDialog());
  byId("project-name").textContent = project.name;
  document.title = `${document.title.split(" · ")[0]} · ${project.name}`;
  const outbox = new Outbox(localStorage, `${project.id}/${project.me.name}`, senderFor(project.me.name));
  showSaved(outbox);
  showProblem(outbox);
  // On every page: an annotation may be sent, and refused, long after its person has left the page Label.
  outbox.addEventListener("refused", ({ detail }) => toast(t("Not saved: {reason}", detail), { stays: true }));
  const trainer = new TrainerBar(byId("trainer"));
  trainer.poll();
  outbox.flush();
  return { project, outbox, trainer };
}

async function signOut() {
  await post("/api/logout");
  location.assign(link("/login"));
}

async function withRetry(load) {
  for (let message = null; ; ) {
    try {
      const loaded = await load();
      message?.remove();
      return loaded;
    } catch (error) {
      message ??= toast(t("{problem} This page keeps trying.", { problem: error.message }), { stays: true });
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}

/** Sends one person's annotations. After a 403 the CSRF token is renewed once, because it may have expired. */
function senderFor(name) {
  return async (path, body) => {
    try {
      return await post(path, body, SEND_TIMEOUT);
    } catch (error) {
      if (error.status !== 403) throw error;
      const { me } = await getProject();
      if (me.name === name) return post(path, body, SEND_TIMEOUT);
      // Another person has signed in with this browser; the annotations wait until their own person returns.
      location.reload();
      throw new ApiError(0, t("Another person has signed in with this browser."));
    }
  };
}

function showSaved(outbox) {
  const place = byId("saved");
  let wasLate = false;
  const show = () => {
    const waiting = outbox.waiting.length;
    // A single request in progress is normal; a failed one, or several waiting, is worth showing.
    const late = waiting > 0 && (outbox.failures > 0 || waiting > 3);
    place.dataset.state = late ? "waiting" : "saved";
    // Screen readers announce this only from a problem until it is solved, not "Saved" after every label.
    wasLate ||= late;
    place.setAttribute("aria-live", wasLate ? "polite" : "off");
    const sentence = waiting ? t("Saving") : t("Saved");
    setText(place, late ? tn("{n} annotation waiting to be sent", "{n} annotations waiting to be sent", waiting) : sentence);
    if (!waiting) wasLate = false;
  };
  outbox.addEventListener("change", show);
  show();
}

/** Shows why the server cannot save, such as a full disk, until it can. */
function showProblem(outbox) {
  let message = null;
  outbox.addEventListener("change", () => {
    if (outbox.problem)
      message ??= toast(t("{problem} Your labels stay in this browser and are sent again.", outbox), { stays: true });
    else {
      message?.remove();
      message = null;
    }
  });
}
