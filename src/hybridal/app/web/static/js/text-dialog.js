/** The dialog with one text: its label, its history, and a form to change the label. */
import { get, link } from "./api.js";
import { facts } from "./badges.js";
import { classSelect } from "./class-select.js";
import { contextList } from "./context-list.js";
import { onSubmit } from "./controls.js";
import { el, bdi } from "./dom.js";
import { ago } from "./format.js";
import { deleteButton } from "./delete-texts.js";
import { idempotentPost } from "./idempotent-post.js";

/**
 * @param {string} id
 * @param {{classes: {name: string}[], me: {name: string, role: string}}} project
 * @param {() => void} changed
 */
export async function openText(id, project, changed) {
  const item = await get(`/api/texts/${encodeURIComponent(id)}`);
  const decides = decidesForOthers(item, project.me);
  const own = currentAnnotation(item.annotations, project.me);
  const select = classSelect(project.classes, "choose a class", decides ? item.class : own?.class);
  select.autofocus = true;
  select.removeAttribute("aria-label"); // the form labels it
  select.setAttribute("aria-describedby", "text-problem");
  const flagged = el("input", { type: "checkbox", checked: Boolean(own?.flagged) });
  const comment = el("textarea", { rows: 2, maxlength: 2000, dir: "auto" });
  comment.value = own?.comment ?? "";
  const send = idempotentPost();
  const problem = el("p", { class: "problem", role: "alert", id: "text-problem" });
  const dialog = el(
    "dialog",
    { "aria-label": "A text and its history", onclose: () => dialog.remove() },
    el(
      "form",
      { class: "stack item" },
      el("p", { class: "written whole", dir: "auto", tabindex: 0, role: "region", "aria-label": "Text" }, item.text),
      facts(item, project.classes),
      el("details", {}, el("summary", {}, "Other columns of the file"), contextList(item.context)),
      el(
        "label",
        {},
        decides ? "Final class (removes earlier flags)" : "Your label",
        select,
      ),
      decides ? null : el("label", { class: "check" }, flagged, "Flag it for a reviewer"),
      decides ? null : el("label", {}, "Comment", comment),
      problem,
      el(
        "div",
        { class: "row" },
        item.deleted ? null : el("button", { class: "main" }, "Save"),
        project.me.role === "owner" ? deleteButton(item, () => (dialog.close(), changed()), showProblem) : null,
        el("a", { class: "button plain", href: link(`/texts?${new URLSearchParams({ like: id, state: "unlabelled" })}`) }, "More like this"),
        el("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Close"),
      ),
      el("h3", {}, "History"),
      history(item.annotations),
    ),
  );
  onSubmit(dialog.firstChild, save);
  document.body.append(dialog);
  dialog.showModal();

  async function save() {
    const body = { text: id, class: select.value };
    select.ariaInvalid = String(!body.class);
    if (!body.class) return void (select.focus(), (problem.textContent = "Choose a class first."));
    await showProblem(async () => {
      if (decides) await send("/api/adjudications", body);
      else
        await send("/api/annotations", {
          ...body,
          action: "label",
          flagged: flagged.checked,
          comment: comment.value.trim(),
        });
      dialog.close();
      changed();
    });
  }

  /** Shows errors in the dialog, because a toast behind it cannot be reached. */
  async function showProblem(act) {
    try {
      await act();
    } catch (error) {
      problem.textContent = error.message;
    }
  }
}

/** Whether saving is a final decision: a reviewer opens a text that other people have labelled. */
function decidesForOthers(item, me) {
  return me.role !== "annotator" && item.annotations.some(({ person, action }) => person !== me.name && action === "label");
}

/** The person's last annotation that they have not undone. */
function currentAnnotation(annotations, me) {
  const valid = [];
  for (const annotation of annotations.filter(({ person }) => person === me.name)) {
    if (annotation.action === "withdraw") valid.pop();
    else valid.push(annotation);
  }
  return valid.at(-1);
}

function history(annotations) {
  if (!annotations.length) return el("p", { class: "muted small" }, "No annotations yet.");
  const described = ({ action, class: name, decides }) =>
    action === "label"
      ? [decides ? " decided for " : " chose ", bdi(name)]
      : [{ skip: " skipped it", withdraw: " undid that" }[action]];
  const flag = ({ flagged }) => (flagged ? " and flagged it" : null);
  const line = (annotation) =>
    el(
      "li",
      {},
      el("b", {}, bdi(annotation.person)),
      ...described(annotation),
      flag(annotation),
      el("span", { class: "muted" }, ` · ${ago(annotation.at)}`),
      annotation.comment ? el("p", { class: "written", dir: "auto" }, annotation.comment) : null,
    );
  return el("ul", { class: "history" }, ...annotations.toReversed().map(line));
}
