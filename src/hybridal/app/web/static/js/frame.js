/** The frame of every page for signed-in people: project name, save state, the trainer's bar. */
import { getProject, link, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId, setText } from "./dom.js";
import { t, tn } from "./i18n.js";
import { deleteCopy, readCopy } from "./offline-copy.js";
import { Outbox } from "./outbox.js";
import { passwordDialog } from "./password.js";
import { showErrors, toast } from "./toast.js";
import { TrainerBar } from "./trainer-bar.js";
import { watchUnread } from "./unread.js";

const SEND_TIMEOUT = 30; // seconds until sending an annotation is given up and retried

/**
 * Resolves to `{project, outbox, trainer, kept}` once the project is known. `kept` are the texts on this device, if the
 * page Label was opened without a connection.
 */
export const frame = start();
showErrors(() => frame); // show why a page cannot start

async function start() {
  const { project, items: kept } = await loadProject();
  const leave = byId("sign-out");
  if (leave) onPress(leave, () => showErrors(signOut));
  if (byId("change-password")) onPress(byId("change-password"), () => passwordDialog());
  byId("project-name").textContent = project.name;
  document.title = `${document.title.split(" · ")[0]} · ${project.name}`;
  const outbox = new Outbox(localStorage, `${project.id}/${project.me.name}`, send);
  showSaved(outbox);
  showProblem(outbox);
  // On every page: an annotation may be sent, and refused, long after its person has left the page Label.
  outbox.addEventListener("refused", ({ detail }) => toast(t("Not saved: {reason}", detail), { stays: true }));
  const trainer = new TrainerBar(byId("trainer"));
  trainer.poll();
  watchUnread(project);
  outbox.flush();
  return { project, outbox, trainer, kept };
}

async function signOut() {
  await post("/api/logout");
  await deleteCopy().catch(() => {}); // some browsers deny the store; the sign-in page tries again
  location.assign(link("/login"));
}

/** The project from the server, or the copy of it that this device keeps for the page Label. */
async function loadProject() {
  const { owner, page } = document.documentElement.dataset;
  for (let message = null; ; ) {
    try {
      const project = await getProject();
      message?.remove();
      return { project };
    } catch (error) {
      const isUnreachable = error.status === 0 && page === "label";
      const copy = isUnreachable && (await readCopy(owner).catch(() => null)); // some browsers deny the store
      if (copy) return copy;
      message ??= toast(t("{problem} This page keeps trying.", { problem: error.message }), { stays: true });
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}

/** Sends an annotation. After a 403 the CSRF token is renewed once, because it may have expired. */
async function send(path, body) {
  try {
    return await post(path, body, SEND_TIMEOUT);
  } catch (error) {
    if (error.status !== 403) throw error;
    await getProject(); // fails if another person has signed in; the annotations wait until their own person returns
    return post(path, body, SEND_TIMEOUT);
  }
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
