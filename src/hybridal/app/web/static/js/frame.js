/** What every page of somebody who is signed in has: the project's name, unsent annotations, the trainer's bar. */
import { getProject, link, post, Refusal } from "./api.js";
import { onPress } from "./controls.js";
import { byId, say } from "./dom.js";
import { count } from "./format.js";
import { Outbox } from "./outbox.js";
import { passwordDialog } from "./password.js";
import { told, toast } from "./toast.js";
import { TrainerBar } from "./trainer-bar.js";

const SOON = 30; // seconds in which an answer is written down, or sent again

/** Resolves to `{project, outbox, trainer}` once the project is known. */
export const frame = start();
told(() => frame); // a page that cannot start says why

async function start() {
  const project = await patiently(getProject);
  const leave = byId("sign-out");
  if (leave) onPress(leave, () => told(signOut));
  if (byId("change-password")) onPress(byId("change-password"), () => passwordDialog());
  byId("project-name").textContent = project.name;
  document.title = `${document.title.split(" · ")[0]} · ${project.name}`;
  const outbox = new Outbox(localStorage, `${project.id}/${project.me.name}`, senderOf(project.me.name));
  showSaved(outbox);
  // On every page: an answer may be sent, and refused, long after somebody left the one where they gave it.
  outbox.addEventListener("refused", ({ detail }) => toast(`Not saved: ${detail.reason}`, { stays: true }));
  const trainer = new TrainerBar(byId("trainer"));
  trainer.poll();
  outbox.flush();
  return { project, outbox, trainer };
}

async function signOut() {
  await post("/api/logout");
  location.assign(link("/login"));
}

async function patiently(load) {
  for (let said = null; ; ) {
    try {
      const loaded = await load();
      said?.remove();
      return loaded;
    } catch (error) {
      said ??= toast(`${error.message} This page goes on trying.`, { stays: true });
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
  }
}

/** Sends what one person said. A token that has run out is renewed once; a second refusal is meant. */
function senderOf(name) {
  return async (path, body) => {
    try {
      return await post(path, body, SOON);
    } catch (error) {
      if (error.status !== 403) throw error;
      const { me } = await getProject();
      if (me.name === name) return post(path, body, SOON);
      // Somebody else has signed in with this browser: these answers wait for their own person.
      location.reload();
      throw new Refusal(0, "Somebody else has signed in here.");
    }
  };
}

function showSaved(outbox) {
  const place = byId("saved");
  let wasLate = false;
  const show = () => {
    const waiting = outbox.waiting.length;
    // A request that is under way is no news; one that failed, or a heap of them, is.
    const late = waiting > 0 && (outbox.failures > 0 || waiting > 3);
    place.dataset.state = late ? "waiting" : "saved";
    // Spoken only when something is wrong, until it is right again: nobody wants to hear "Saved" 800 times.
    wasLate ||= late;
    place.setAttribute("aria-live", wasLate ? "polite" : "off");
    say(place, late ? `${count(waiting, "answer")} waiting to be sent` : waiting ? "Saving" : "Saved");
    if (!waiting) wasLate = false;
  };
  outbox.addEventListener("change", show);
  show();
}
